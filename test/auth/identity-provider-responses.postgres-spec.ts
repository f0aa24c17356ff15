import { createHash } from 'node:crypto';
import { buildLdif } from '../support/builders/directory.js';
import { FormBrowser } from '../support/clients/form-browser.js';
import { send } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const HTML = { accept: 'text/html' };
const SOME = 3;

interface Device {
  device_code: string;
  user_code: string;
}

describe('codes of the device flow', () => {
  let service: TestService;

  beforeEach(async () => {
    service = await TestService.start({
      ldif: buildLdif([{ id: 'ada' }]),
      environment: { LIMIT_FAILED_LOGINS: String(SOME), TRUSTED_PROXIES: '127.0.0.1' },
      compared: false,
    });
  });

  afterEach(() => service.stop());

  async function requestDeviceCodes(): Promise<Device> {
    const { body } = await send(service, {
      method: 'POST',
      path: '/oauth2/device_authorization',
      headers: FORM,
      body: 'client_id=demo-app&scope=read',
    });
    return JSON.parse(body) as Device;
  }

  /** Submits a code on the page, like a browser. */
  async function type(code: string, address: string): Promise<Response> {
    const browser = new FormBrowser(service.url, { 'x-forwarded-for': address });
    const page = await (await browser.open(`${service.url}/oauth2/device`)).response.text();
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    return (await browser.open(`${service.url}/oauth2/device`, { xsrf, user_code: code })).response;
  }

  function poll(code: string, address: string) {
    return send(service, {
      method: 'POST',
      path: '/oauth2/token',
      headers: { ...FORM, 'x-forwarded-for': address },
      body: new URLSearchParams({
        client_id: 'demo-app',
        grant_type: DEVICE_CODE,
        device_code: code,
      }).toString(),
    });
  }

  it('are rejected from an address with too many wrong ones, even a right one, and from no other address', async () => {
    const { user_code: right } = await requestDeviceCodes();
    for (let count = 0; count < SOME; count++) {
      const response = await type('BBBB-BBBB', '192.0.2.1');
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining('No device shows this code') as string,
      ]);
    }
    for (const code of ['BBBB-BBBB', right]) {
      const response = await type(code, '192.0.2.1');
      expect(response.status).toBe(429);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      const page = await response.text();
      expect(page).toContain('Too many wrong codes');
      expect(page).not.toContain(right);
    }
    const elsewhere = await type(right, '192.0.2.2');
    expect([elsewhere.status, await elsewhere.text()]).toEqual([
      200,
      expect.stringContaining(right) as string,
    ]);
  });

  it('do not exceed the limit if many are submitted at once', async () => {
    const answers = await Promise.all(Array.from({ length: 3 * SOME }, () => type('BBBB-BBBB', '192.0.2.3')));
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(SOME);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(2 * SOME);
  });

  it.each([
    ['huge', 'B'.repeat(40_000)],
    ['too large for a form', 'B'.repeat(400_000)],
    ['of many bytes per letter', '🎓'.repeat(2000)],
    ['with markup', '<script>alert(1)</script>'],
    ['with NUL and line breaks', 'BB\0BB\r\nSet-Cookie: a=b'],
    ['of separators only', '-'.repeat(1000)],
  ])('that are %s match no device, and are not shown as markup', async (_, code) => {
    const answer = await type(code, '192.0.2.5');
    const page = await answer.text();
    expect([400, 413]).toContain(answer.status);
    expect(page).not.toContain('<script>alert');
    expect(answer.headers.get('set-cookie') ?? '').not.toContain('a=b');
    expect(page.length).toBeLessThan(100_000);
    expect((await send(service, { path: '/_health' })).status).toBe(200);
  });

  it('of devices are counted, too; a right one is accepted, and users can submit theirs', async () => {
    const { device_code: right, user_code: typed } = await requestDeviceCodes();
    const statuses: number[] = [];
    for (let count = 0; count < SOME + 2; count++) {
      const answer = await poll(`wrong-${count}`, '192.0.2.4');
      statuses.push(answer.status);
      if (answer.status === 429) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(statuses).toEqual([400, 400, 400, 429, 429]);
    expect(JSON.parse((await poll(right, '192.0.2.4')).body)).toMatchObject({
      error: 'authorization_pending',
    });
    expect((await type(typed, '192.0.2.4')).status).toBe(200);
  });
});

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
    [400, 'POST', '/interaction/unknown', { ...HTML, ...FORM }, 'id=ada'],
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
    [405, 'GET', '/oauth2/token', HTML],
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
