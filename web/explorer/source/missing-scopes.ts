/** The part of a response that names missing scopes: docs/http.md describes it. */
interface Failure {
  readonly extensions?: { readonly code?: unknown; readonly requiredScopes?: unknown };
}

/**
 * Returns the scopes that the errors of a response require beside those of the token, which is empty if any token is enough. Null:
 * no error requires a token or a scope.
 */
export function findMissingScopes(body: unknown, granted: readonly string[]): string[] | null {
  const { errors } = body as { errors?: unknown };
  const failures = (Array.isArray(errors) ? (errors as Failure[]) : []).filter(
    ({ extensions }) => extensions?.code === 'UNAUTHENTICATED' || extensions?.code === 'INSUFFICIENT_SCOPE',
  );
  if (failures.length === 0) return null;
  const required = failures.flatMap(({ extensions }) =>
    Array.isArray(extensions?.requiredScopes) ? (extensions.requiredScopes as string[]) : [],
  );
  return [...new Set(required)].filter((scope) => !granted.includes(scope));
}
