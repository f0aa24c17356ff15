/** The scopes of access tokens and service accounts. See docs/authentication.md. */
export const SCOPES = ['profile', 'read', 'directory', 'write'] as const;

export type Scope = (typeof SCOPES)[number];

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

/** The scopes in a `scope` claim (RFC 6749 §3.3), in the order of SCOPES. Unknown ones belong to other services. */
export function parseScopes(claim: string): Scope[] {
  const words = new Set(claim.split(' '));
  return SCOPES.filter((scope) => words.has(scope));
}

export type PrincipalKind = 'ACCESS_TOKEN' | 'PERSONAL_ACCESS_TOKEN' | 'SERVICE_ACCOUNT_TOKEN';

/** Who makes a request, according to the token. Frozen, and shared by all requests with the same access token. */
export interface Principal {
  readonly kind: PrincipalKind;
  /** Identifies the principal in rate limits: subject, client or service account. */
  readonly countedAs: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly clientId: string | null;
  /** The id of the user for whom the token acts, as the issuer writes it; null if it acts for no user. */
  readonly subject: string | null;
  readonly serviceAccountId: string | null;
  readonly expiresAt: Date | null;
  /** The entryUUIDs of the groups to which a service account is limited. Default: it is not limited. */
  readonly limitedTo?: readonly string[] | null;
}

export function hasScopes(principal: Principal, required: readonly Scope[]): boolean {
  return required.every((scope) => principal.scopes.has(scope));
}

/** The scopes of a principal, in the order of SCOPES. */
export function grantedScopes(principal: Principal | null): Scope[] {
  return SCOPES.filter((scope) => principal?.scopes.has(scope));
}

const names = new WeakMap<ReadonlySet<Scope>, string>();

/** The scopes as a key of caches. Computed once for each token. */
export function nameOfScopes({ scopes }: Pick<Principal, 'scopes'>): string {
  let name = names.get(scopes);
  if (name === undefined) {
    name = SCOPES.filter((scope) => scopes.has(scope)).join(' ');
    names.set(scopes, name);
  }
  return name;
}
