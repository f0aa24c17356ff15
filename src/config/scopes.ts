/** A scope of access tokens and service accounts. */
export interface ScopeDefinition {
  readonly name: string;
  readonly description: string;
}

/** The scopes of the built-in schema. See docs/authentication.md. */
export const BUILT_IN_SCOPES = [
  { name: 'profile', description: 'Your own profile and groups.' },
  { name: 'read', description: 'Users and groups of the directory.' },
  { name: 'directory', description: 'Lists of all users, changes, and previews of any change.' },
  { name: 'write', description: 'Previews of changes.' },
] as const satisfies readonly ScopeDefinition[];

export type BuiltInScope = (typeof BUILT_IN_SCOPES)[number]['name'];

/** The scopes that the model adds to those of the built-in schema. */
export function ownScopes(scopes: readonly ScopeDefinition[]): readonly ScopeDefinition[] {
  return scopes.slice(BUILT_IN_SCOPES.length);
}

/** Scopes that mean something else to every OpenID provider (OpenID Connect Core, sections 3.1.2.1, 5.4 and 11). */
export const FOREIGN_SCOPES: readonly string[] = ['openid', 'offline_access', 'email', 'address', 'phone'];
