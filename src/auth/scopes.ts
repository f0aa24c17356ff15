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
