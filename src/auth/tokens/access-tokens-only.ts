import type { Introspection } from './external-issuer.js';

/**
 * Names by which providers call an access token, in lower case. RFC 7662 leaves it open whether an issuer also answers for
 * other tokens, and Hydra, Keycloak and Cognito do, each with a member of its own that tells which.
 */
const ACCESS_TOKENS: Readonly<Record<'token_use' | 'token_type' | 'typ', ReadonlySet<string>>> = {
  token_use: new Set(['access', 'access_token']),
  token_type: new Set([
    'bearer',
    'access_token',
    'personal_access_token',
    'urn:ietf:params:oauth:token-type:access_token',
  ]),
  typ: new Set(['bearer', 'access', 'access_token', 'at+jwt', 'application/at+jwt', 'jwt']),
};

/** Claims that only ID tokens have (OpenID Connect Core 1.0 §3.1.3.6, §3.3.2.11). */
const OF_ID_TOKENS = ['at_hash', 'c_hash'] as const;

/** Whether an introspection is about an access token, and not about a refresh token, an ID token or anything else. */
export function isAboutAccessToken(introspection: Introspection): boolean {
  const isNamedSo = (['token_use', 'token_type', 'typ'] as const).every((member) => {
    const name = introspection[member] ?? null;
    return name === null || (typeof name === 'string' && ACCESS_TOKENS[member].has(name.toLowerCase()));
  });
  return isNamedSo && OF_ID_TOKENS.every((claim) => (introspection[claim] ?? null) === null);
}
