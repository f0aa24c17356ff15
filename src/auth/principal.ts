import type { BuiltInScope, ScopeDefinition } from '../config/scopes.js';

/** The scopes of the built-in schema. A model can have more (Config.scopes). See docs/authentication.md. */
export const SCOPES = ['profile', 'read', 'directory', 'write'] as const satisfies readonly BuiltInScope[];

/** A scope of the built-in schema or of the model. */
export type Scope = string;

/** The scopes that the configuration knows, in its order. */
export function knownScopes(scopes: readonly string[], known: readonly ScopeDefinition[]): Scope[] {
  return known.map(({ name }) => name).filter((name) => scopes.includes(name));
}

/** Who makes a request, according to the token. Frozen, and shared by all requests with the same access token. */
export interface Principal {
  readonly kind: 'ACCESS_TOKEN' | 'PERSONAL_ACCESS_TOKEN' | 'SERVICE_ACCOUNT_TOKEN';
  /** Identifies the principal in rate limits: subject, client or service account. */
  readonly countedAs: string;
  /** In the order of the configuration. */
  readonly scopes: ReadonlySet<Scope>;
  readonly clientId: string | null;
  /** The id of the user for whom the token acts, in any spelling; null if it acts for no user. */
  readonly subject: string | null;
  readonly serviceAccountId: string | null;
  readonly expiresAt: Date | null;
  /** The entryUUIDs of the groups to which a service account is limited. Default: it is not limited. */
  readonly limitedTo?: readonly string[] | null;
}

/** The scopes of a principal, in the order of the configuration. */
export function grantedScopes(principal: Principal | null): Scope[] {
  return principal === null ? [] : [...principal.scopes];
}
