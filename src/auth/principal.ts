import { foldId } from '../common/identity.js';
import type { BuiltInScope, ScopeDefinition } from '../config/scopes.js';
import { OUTSIDER, type Viewer } from '../database/visibility/viewer.js';

/** The scopes of the built-in schema. A model can have more (Config.scopes). See docs/authentication.md. */
export const SCOPES = ['profile', 'read', 'directory', 'write'] as const satisfies readonly BuiltInScope[];

/** A scope of the built-in schema or of the model. */
export type Scope = string;

/**
 * The scopes in a `scope` claim (RFC 6749 §3.3), in the order of the known ones. Unknown ones belong to other services.
 * @param known the scopes of the configuration
 */
export function parseScopes(claim: string, known: readonly ScopeDefinition[]): Scope[] {
  return knownScopes(claim.split(' '), known);
}

/** The scopes that the configuration knows, in its order. */
export function knownScopes(scopes: readonly string[], known: readonly ScopeDefinition[]): Scope[] {
  const words = new Set(scopes);
  return known.map(({ name }) => name).filter((name) => words.has(name));
}

export type PrincipalKind = 'ACCESS_TOKEN' | 'PERSONAL_ACCESS_TOKEN' | 'SERVICE_ACCOUNT_TOKEN';

/** Who makes a request, according to the token. Frozen, and shared by all requests with the same access token. */
export interface Principal {
  readonly kind: PrincipalKind;
  /** Identifies the principal in rate limits: subject, client or service account. */
  readonly countedAs: string;
  /** In the order of the configuration. */
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

/** The scopes of a principal, in the order of the configuration. */
export function grantedScopes(principal: Principal | null): Scope[] {
  return principal === null ? [] : [...principal.scopes];
}

const names = new WeakMap<ReadonlySet<Scope>, string>();

/** The scopes as a key of caches. Computed once for each token. */
export function nameOfScopes({ scopes }: Pick<Principal, 'scopes'>): string {
  let name = names.get(scopes);
  if (name === undefined) {
    name = [...scopes].sort().join(' ');
    names.set(scopes, name);
  }
  return name;
}

/**
 * For whom a principal reads the mirror.
 * @param bypass the scope of tokens that see everything; null: there is none
 */
export function viewerOf(principal: Principal | null, bypass: string | null): Viewer {
  if (principal === null) return OUTSIDER;
  const { subject, scopes, limitedTo = null } = principal;
  return {
    id: subject === null ? null : foldId(subject),
    seesHidden: bypass !== null && scopes.has(bypass),
    limitedTo,
  };
}
