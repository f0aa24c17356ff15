import { type Scope, SCOPES } from './scopes.js';

export type TokenKind = 'ACCESS_TOKEN' | 'PERSONAL_ACCESS_TOKEN' | 'SERVICE_ACCOUNT_TOKEN';

/** Who is asking, as far as the token tells. Frozen and shared by all requests with the same token. */
export interface Principal {
  readonly kind: TokenKind;
  /** Stands for the caller where requests are counted: subject, client or service account. */
  readonly countedAs: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The OAuth client that the token was issued to. */
  readonly clientId: string | null;
  /** The id of the person the token acts for, as the issuer spells it; null: it acts for nobody. */
  readonly subject: string | null;
  readonly serviceAccountId: string | null;
  readonly expiresAt: Date | null;
}

export function hasScopes(principal: Principal, required: readonly Scope[]): boolean {
  return required.every((scope) => principal.scopes.has(scope));
}

/** The scopes of a principal, in the order of SCOPES. */
export function grantedScopes(principal: Principal | null): Scope[] {
  return SCOPES.filter((scope) => principal?.scopes.has(scope));
}

const names = new WeakMap<ReadonlySet<Scope>, string>();

/** The scopes as one text, the same for the same scopes: it is asked for with each request of a token. */
export function nameOfScopes({ scopes }: Pick<Principal, 'scopes'>): string {
  let name = names.get(scopes);
  if (name === undefined) {
    name = SCOPES.filter((scope) => scopes.has(scope)).join(' ');
    names.set(scopes, name);
  }
  return name;
}
