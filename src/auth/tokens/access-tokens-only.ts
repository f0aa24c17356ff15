import type { Introspection } from './external-issuer.js';

/**
 * The names that providers give to access tokens, in lower case. RFC 7662 does not say whether an issuer introspects
 * other tokens. Hydra, Keycloak and Cognito do, and each names the kind in another member.
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

/** Claims of ID tokens only (OpenID Connect Core 1.0 §3.1.3.6, §3.3.2.11). */
const OF_ID_TOKENS = ['at_hash', 'c_hash'] as const;

/** Whether an introspection describes an access token, and not a refresh token, an ID token or another one. */
export function isAboutAccessToken(introspection: Introspection): boolean {
  const isNamedSo = (['token_use', 'token_type', 'typ'] as const).every((member) => {
    const name = introspection[member] ?? null;
    return name === null || (typeof name === 'string' && ACCESS_TOKENS[member].has(name.toLowerCase()));
  });
  return isNamedSo && OF_ID_TOKENS.every((claim) => (introspection[claim] ?? null) === null);
}
