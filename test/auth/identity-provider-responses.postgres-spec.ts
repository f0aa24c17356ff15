import { createHash } from 'node:crypto';
import { buildLdif } from '../support/builders/directory.js';
import { send } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const HTML = { accept: 'text/html' };

describe('every response of the embedded provider', () => {
  const service = TestService.forSuite({ ldif: buildLdif([{ id: 'ada' }]), compared: false });

  const AUTHORIZE =
    '/oauth2/authorize?client_id=demo-app&response_type=code&redirect_uri=http://127.0.0.1:8080/callback' +
    `&scope=read&code_challenge_method=S256&code_challenge=${createHash('sha256').update('x').digest('base64url')}`;

  it.each<[status: number, method: string, path: string, headers: Record<string, string>, body?: string]>([
    [200, 'GET', '/.well-known/openid-configuration', {}],
    [200, 'GET', '/oauth2/jwks', {}],
    [303, 'GET', AUTHORIZE, HTML],
    [400, 'GET', '/oauth2/authorize?client_id=nobody', HTML],
    [400, 'GET', '/oauth2/authorize?client_id=nobody', { accept: 'application/json' }],
    [400, 'GET', '/oauth2/authorize/unknown', HTML],
    [400, 'GET', '/interaction/unknown', HTML],
    [400, 'POST', '/interaction/unknown', { ...HTML, ...FORM }, 'prompt=login&login=ada'],
    [200, 'GET', '/oauth2/device', HTML],
    // The form that submits itself has a script of oidc-provider.
    [200, 'GET', '/oauth2/device?user_code=BBBB-BBBB', HTML],
    [400, 'POST', '/oauth2/device', { ...HTML, ...FORM }, 'user_code=BBBB-BBBB'],
    [400, 'POST', '/oauth2/device', { ...HTML, ...FORM, cookie: '_session=unknown' }, 'user_code=BBBB-BBBB'],
    [200, 'GET', '/oauth2/logout', HTML],
    [400, 'GET', '/oauth2/logout?id_token_hint=x', HTML],
    [400, 'POST', '/oauth2/logout/confirm', { ...HTML, ...FORM }, 'logout=yes'],
    [200, 'GET', '/oauth2/logout/success', HTML],
    [401, 'GET', '/oauth2/userinfo', { authorization: 'Bearer x' }],
    [401, 'POST', '/oauth2/token', FORM, 'grant_type=client_credentials&client_id=demo-post&client_secret=x'],
    [400, 'POST', '/oauth2/token', FORM, 'client_id=demo-app'],
    [400, 'POST', '/oauth2/introspect', FORM, 'token=x'],
    [400, 'POST', '/oauth2/revoke', FORM, 'token=x'],
    [404, 'GET', '/oauth2/nothing', HTML],
    [404, 'GET', '/oauth2/nothing', {}],
  ])('has the policy: %s for %s %s', async (...[status, method, path, headers, body]) => {
    const answer = await send(service, { method, path, headers, ...(body === undefined ? {} : { body }) });
    expect([answer.status, answer.body]).toEqual([status, expect.any(String)]);
    const policy = directivesOf(answer.headers['content-security-policy']);
    expect(policy).toMatchObject({
      'default-src': ["'none'"],
      'base-uri': ["'none'"],
      'frame-ancestors': ["'none'"],
    });
    expect(answer.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
    });
    const scripts = [...answer.body.matchAll(/<script>([^]*?)<\/script>/g)].map(([, script = '']) => script);
    expect(policy['script-src'] ?? []).toEqual(
      scripts.map((script) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`),
    );
  });
});

function directivesOf(policy: unknown): Record<string, string[]> {
  const directives = String(policy)
    .split(';')
    .map((each) => each.trim().split(/\s+/));
  return Object.fromEntries(directives.map(([name = '', ...sources]) => [name, sources]));
}
