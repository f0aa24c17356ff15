export const ROUTES = {
  authorization: '/oauth2/authorize',
  token: '/oauth2/token',
  introspection: '/oauth2/introspect',
  revocation: '/oauth2/revoke',
  userinfo: '/oauth2/userinfo',
  jwks: '/oauth2/jwks',
  device_authorization: '/oauth2/device_authorization',
  code_verification: '/oauth2/device',
  end_session: '/oauth2/logout',
};

/** Paths that accept only POST: RFC 6749 §3.2, RFC 7662 §2.1, RFC 7009 §2.1, RFC 8628 §3.1. */
export const POST_ONLY = new Set([
  ROUTES.token,
  ROUTES.introspection,
  ROUTES.revocation,
  ROUTES.device_authorization,
]);
