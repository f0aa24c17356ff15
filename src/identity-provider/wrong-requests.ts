import type { Context } from 'koa';
import { OIDCProviderError } from 'oidc-provider/lib/helpers/errors.js';
import type { Provider } from 'oidc-provider';
import type { DeviceCodes } from './pages/flow-pages.js';
import type { ProviderLogins } from './logins.js';
import { messagePage, sendPage, setPolicy, wrongAddressPage } from './pages/pages.js';

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
const POST_ONLY = new Set([
  ROUTES.token,
  ROUTES.introspection,
  ROUTES.revocation,
  ROUTES.device_authorization,
]);

/** Sets the policy on all responses, including the error responses of Koa, which drop every header. */
export function answerFaults(provider: Provider): void {
  provider.use(async (context, next) => {
    setPolicy(context);
    try {
      await next();
    } catch (error) {
      const status = error instanceof OIDCProviderError ? error.statusCode : 500;
      const isRefusal = error instanceof OIDCProviderError && status < 500;
      if (!isRefusal) provider.emit('server_error', context, error);
      if (status === 503) context.set('Retry-After', '1');
      const page = messagePage('This did not work', isRefusal ? error.message : 'Try again later.');
      sendPage(context, status, page);
    }
  });
}

/** Responds to requests that no route of the provider handles, to people with a page, and counts failed attempts. */
export function answerWrongRequests(provider: Provider, logins: ProviderLogins, codes: DeviceCodes): void {
  const startPage = `${provider.issuer.replace(/\/$/, '')}/`;
  const refuse = (context: Context, status: number, error: string, description: string) => {
    if (context.method === 'GET' && context.accepts('json', 'html') === 'html') {
      sendPage(context, status, wrongAddressPage(description, startPage));
    } else refuseProgram(context, status, error, description);
  };
  provider.use(async (context, next) => {
    if (POST_ONLY.has(context.path) && context.method !== 'POST' && context.method !== 'OPTIONS') {
      context.set('Allow', 'POST');
      refuse(context, 405, 'invalid_request', 'this endpoint takes POST only');
      return;
    }
    if (await rejectsUserCode(provider, codes, context)) return;
    await next();
    await logins.judgeUnknownClient(context);
    await codes.judgeAnswer(context);
    if (context.status === 404 && (context.body === undefined || context.body === null)) {
      refuse(context, 404, 'not_found', 'there is no such endpoint');
    }
    if (context.status === 503) context.set('Retry-After', '1');
  });
}

/** Returns whether an entered user code is rejected before it is looked up; the page that says so is then the response. */
async function rejectsUserCode(provider: Provider, codes: DeviceCodes, context: Context): Promise<boolean> {
  if (context.path !== ROUTES.code_verification || context.method !== 'POST') return false;
  if (await codes.refuses(context)) return true;
  const { exp } = (await provider.Session.get(context)) as { exp?: number };
  if (exp !== undefined) return false;
  // oidc-provider would create a session here and fail to save it, because its own form always sends one.
  sendPage(context, 400, messagePage('This did not work', 'Open the page that your device shows again.'));
  return true;
}

function refuseProgram(context: Context, status: number, error: string, description: string): void {
  context.status = status;
  context.set('Cache-Control', 'no-store');
  context.body = { error, error_description: description };
}
