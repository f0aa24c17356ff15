import type { PrincipalKind } from '../principal.js';

/** Claims of a JWT, or members of an introspection, that depend on the grant of the token. */
export interface GrantClaims {
  readonly sub?: unknown;
  readonly client_id?: unknown;
  readonly gty?: unknown;
  readonly grant_type?: unknown;
}

/**
 * People get tokens for their own scripts by the client-credentials grant. Its subject is the client itself (RFC 9068
 * §2.2), or a claim `gty` or `grant_type` names the grant, as several providers do; the embedded provider sends
 * `gty`. All other tokens are access tokens of applications.
 */
export function kindOfToken({ sub, client_id, gty, grant_type }: GrantClaims): PrincipalKind {
  const isOfClient = typeof client_id === 'string' && sub === client_id;
  const grants = [gty, grant_type].flat();
  return isOfClient || grants.some(isClientCredentials) ? 'PERSONAL_ACCESS_TOKEN' : 'ACCESS_TOKEN';
}

/** With an underscore as in RFC 6749 §4.4.2, or with a hyphen as at Auth0. */
function isClientCredentials(grant: unknown): boolean {
  return grant === 'client_credentials' || grant === 'client-credentials';
}
