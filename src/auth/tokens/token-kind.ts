import type { TokenKind } from '../principal.js';

/** What tells how a token was granted: claims of a JWT, or members of an introspection. */
export interface GrantClaims {
  readonly sub?: unknown;
  readonly client_id?: unknown;
  readonly gty?: unknown;
  readonly grant_type?: unknown;
}

/**
 * A token of the client-credentials grant is the one that people make for their own scripts. It is recognized by a
 * subject that is the client itself (RFC 9068 §2.2), or by `gty` or `grant_type`, claims by which several providers name
 * the grant; the embedded provider sends `gty`. Anything else is an access token of an application.
 */
export function kindOfToken({ sub, client_id, gty, grant_type }: GrantClaims): TokenKind {
  const isOfClient = typeof client_id === 'string' && sub === client_id;
  const grants = [gty, grant_type].flat();
  return isOfClient || grants.some(isClientCredentials) ? 'PERSONAL_ACCESS_TOKEN' : 'ACCESS_TOKEN';
}

/** With an underscore as in RFC 6749 §4.4.2, or with a hyphen as at Auth0. */
function isClientCredentials(grant: unknown): boolean {
  return grant === 'client_credentials' || grant === 'client-credentials';
}
