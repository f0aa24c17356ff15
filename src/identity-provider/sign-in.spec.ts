import { createHash, randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';
import {
  type EmbeddedProvider,
  startEmbeddedProvider,
} from '../../test/support/builders/embedded-provider.js';
import { FormBrowser } from '../../test/support/clients/form-browser.js';

const PEOPLE = ['ada', 'grace'];
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';
const CALLBACK = 'http://127.0.0.1:9/callback';
const CLIENTS = [
  {
    client_id: 'app',
    client_name: 'Time & table',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token', DEVICE_CODE],
    // Without a port, because any port is accepted (RFC 8252 §7.3).
    redirect_uris: ['http://127.0.0.1/callback'],
    post_logout_redirect_uris: ['http://127.0.0.1/'],
    scope: 'openid profile email read',
  },
];

describe('signing in', () => {
  let provider: EmbeddedProvider;
  let issuer: string;
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');

  beforeAll(async () => {
    provider = await startEmbeddedProvider(CLIENTS, {
      findPerson: (id) => {
        const sub = PEOPLE.find((each) => each === id.toLowerCase());
        const others = { name: sub?.toUpperCase() ?? '', given_name: 'Ada', email: 'ada@example.org' };
        return Promise.resolve(sub === undefined ? null : { ...others, sub });
      },
    });
    ({ issuer } = provider);
  });

  afterAll(() => provider.close());

  function authorizationUrl(parameters: Record<string, string> = {}): string {
    return `${issuer}/oauth2/authorize?${new URLSearchParams({
      client_id: 'app',
      response_type: 'code',
      redirect_uri: CALLBACK,
      scope: 'openid profile read',
      state: 'a-state',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...parameters,
    }).toString()}`;
  }

  async function askToken(body: Record<string, string>): Promise<Record<string, string>> {
    const response = await fetch(`${issuer}/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'app', ...body }),
    });
    return (await response.json()) as Record<string, string>;
  }

  function callbackOf({ response }: { response: Response }): Record<string, string> {
    const location = new URL(response.headers.get('location') ?? '');
    expect(`${location.origin}${location.pathname}`).toBe(CALLBACK);
    return Object.fromEntries(location.searchParams);
  }

  async function signIn(browser: FormBrowser, id: string, parameters?: Record<string, string>) {
    const { url } = await browser.open(authorizationUrl(parameters));
    return browser.signIn(url, id);
  }

  async function redeem(code: string | undefined): Promise<Record<string, string>> {
    return askToken({
      grant_type: 'authorization_code',
      code: code ?? '',
      redirect_uri: CALLBACK,
      code_verifier: verifier,
    });
  }

  it('asks for consent to the scopes, and loads nothing', async () => {
    const browser = new FormBrowser(issuer);
    const { response, url } = await browser.open(authorizationUrl());
    expect(url).toMatch(/\/interaction\//);
    expect(await response.text()).not.toContain('@import');
    const page = await (await browser.open(url, { prompt: 'login', login: 'ada' })).response.text();
    expect(page).toContain('<li>read</li>');
  });

  it('gives the application a token for the user', async () => {
    const callback = callbackOf(await signIn(new FormBrowser(issuer), 'ADA'));
    expect(callback).toMatchObject({ state: 'a-state', iss: issuer });
    const tokens = await redeem(callback['code']);
    expect(decodeJwt(tokens['access_token'] ?? '')).toMatchObject({
      sub: 'ada',
      aud: 'urn:test:audience',
      client_id: 'app',
      scope: 'openid profile read',
    });
    expect(decodeJwt(tokens['id_token'] ?? '')).toMatchObject({ sub: 'ada', aud: 'app', name: 'ADA' });
  });

  it.each([
    ['openid', {}],
    ['openid profile', { name: 'ADA', given_name: 'Ada' }],
    ['openid email', { email: 'ada@example.org' }],
    ['read openid email profile', { name: 'ADA', given_name: 'Ada', email: 'ada@example.org' }],
    // Unknown scopes, and those that the client does not have.
    ['openid write everything email', { email: 'ada@example.org' }, 'openid email'],
  ])(
    'grants %s, as the response says, and the claims of userinfo',
    async (scope, claims, granted = scope) => {
      const tokens = await redeem(
        callbackOf(await signIn(new FormBrowser(issuer), 'ada', { scope }))['code'],
      );
      expect(tokens['scope']).toBe(granted);
      const authorization = `Bearer ${tokens['access_token'] ?? ''}`;
      expect(decodeJwt(authorization.slice(7))).toMatchObject({ aud: 'urn:test:audience', scope: granted });
      const response = await fetch(`${issuer}/oauth2/userinfo`, { headers: { authorization } });
      expect([response.status, await response.json()]).toEqual([200, { sub: 'ada', ...claims }]);
      expect(decodeJwt(tokens['id_token'] ?? '')).toMatchObject({ sub: 'ada', aud: 'app', ...claims });
    },
  );

  it('answers userinfo to no token without openid, changed token, or ID token', async () => {
    const tokenOf = async (scope: string) =>
      redeem(callbackOf(await signIn(new FormBrowser(issuer), 'ada', { scope }))['code']);
    const [plain, open] = [await tokenOf('read'), await tokenOf('openid read')];
    const [head = '', payload = '', signature = ''] = open['access_token']?.split('.') ?? [];
    for (const [token = '', status] of [
      [plain['access_token'], 403],
      [`${head}.${payload}.${signature.slice(0, -4)}AAAA`, 401],
      [open['id_token'], 401],
      [decodeJwt(open['access_token'] ?? '').jti, 401],
      ['x', 401],
    ] as const) {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${issuer}/oauth2/userinfo`, { headers });
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([
        status,
        expect.stringMatching(/^Bearer .*error="(invalid_token|insufficient_scope)"/) as string,
      ]);
    }
  });

  it('issues refresh tokens that can be used once', async () => {
    const first = await redeem(callbackOf(await signIn(new FormBrowser(issuer), 'ada'))['code']);
    const refresh = { grant_type: 'refresh_token', refresh_token: first['refresh_token'] ?? '' };
    const second = await askToken(refresh);
    expect(decodeJwt(second['access_token'] ?? '')).toMatchObject({
      sub: 'ada',
      scope: 'openid profile read',
    });
    expect(await askToken(refresh)).toMatchObject({ error: 'invalid_grant' });
  });

  it('refuses an unknown id, after which another one can be entered', async () => {
    const browser = new FormBrowser(issuer);
    const { url } = await browser.open(authorizationUrl());
    for (const id of ['<nobody>', ' ']) {
      const { response } = await browser.signIn(url, id);
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining('no user of the directory has this id') as string,
      ]);
    }
    expect(callbackOf(await browser.signIn(url, 'ada'))).toHaveProperty('code');
  });

  it('reports to the application that the user canceled', async () => {
    const browser = new FormBrowser(issuer);
    const { url } = await browser.open(authorizationUrl());
    expect(callbackOf(await browser.open(`${url}/abort`))).toMatchObject({
      error: 'access_denied',
      state: 'a-state',
    });
  });

  it('does nothing for a form without the cookie of the sign-in', async () => {
    const { url } = await new FormBrowser(issuer).open(authorizationUrl());
    const { response } = await new FormBrowser(issuer).signIn(url, 'ada');
    expect(response.status).toBe(400);
  });

  it('remembers the user', async () => {
    const browser = new FormBrowser(issuer);
    await signIn(browser, 'ada');
    const { url } = await browser.open(authorizationUrl());
    const { code } = callbackOf(await browser.open(url, { prompt: 'consent' }));
    expect(decodeJwt((await redeem(code))['access_token'] ?? '').sub).toBe('ada');
  });

  it.each([
    ['no code challenge', { code_challenge: '', code_challenge_method: '' }, 'invalid_request'],
    ['a plain code challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a scope that is not registered', { scope: 'write' }, 'invalid_scope'],
    ['unknown scopes only', { scope: 'everything more' }, 'invalid_scope'],
    ['prompt=none', { prompt: 'none' }, 'login_required'],
  ])('redirects to the application with an error for %s', async (_case, parameters, error) => {
    const callback = callbackOf(await new FormBrowser(issuer).open(authorizationUrl(parameters)));
    expect(callback).toMatchObject({ error, state: 'a-state' });
  });

  it('rejects a code with another verifier', async () => {
    const { code = '' } = callbackOf(await signIn(new FormBrowser(issuer), 'ada'));
    const body = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK };
    expect(await askToken({ ...body, code_verifier: 'x'.repeat(43) })).toMatchObject({
      error: 'invalid_grant',
    });
  });

  it('shows an error page, without a redirect, for an unregistered redirect URI', async () => {
    const { response } = await new FormBrowser(issuer).open(
      authorizationUrl({ redirect_uri: 'https://evil.example/' }),
    );
    expect(response.status).toBe(400);
    expect(response.headers.get('location')).toBeNull();
    expect(await response.text()).toContain('invalid_redirect_uri');
  });

  it('connects a device', async () => {
    const response = await fetch(`${issuer}/oauth2/device_authorization`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'app', scope: 'read' }),
    });
    const device = (await response.json()) as Record<string, string>;
    const poll = { grant_type: DEVICE_CODE, device_code: device['device_code'] ?? '' };
    expect(await askToken(poll)).toMatchObject({ error: 'authorization_pending' });

    const browser = new FormBrowser(issuer);
    const entry = device['verification_uri'] ?? '';
    const xsrfOf = (page: string) => /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const typeCode = async (page: string, user_code = '', more = {}) =>
      browser.open(entry, { xsrf: xsrfOf(page), user_code, ...more });
    const first = await (await browser.open(entry)).response.text();
    const wrong = await (await typeCode(first, 'BBBB-BBBB')).response.text();
    expect(wrong).toContain('The code you entered is incorrect');
    const confirmation = await (await typeCode(wrong, device['user_code'])).response.text();
    expect(confirmation).toContain('<strong>Time &amp; table</strong>');
    expect(confirmation).toContain(device['user_code']);
    const { url } = await typeCode(confirmation, device['user_code'], { confirm: 'yes' });
    const done = await browser.signIn(url, 'ada');
    expect(await done.response.text()).toContain('was successful');

    expect(decodeJwt((await askToken(poll))['access_token'] ?? '')).toMatchObject({
      sub: 'ada',
      scope: 'read',
      client_id: 'app',
    });
    expect(await askToken(poll)).toMatchObject({ error: 'invalid_grant' });
  });

  it('rejects an expired code, from the device as expired', async () => {
    const response = await fetch(`${issuer}/oauth2/device_authorization`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'app', scope: 'read' }),
    });
    const device = (await response.json()) as Record<string, string> & { expires_in: number };
    const later = (device.expires_in + 1) * 1000;
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + later);
    try {
      const poll = { grant_type: DEVICE_CODE, device_code: device['device_code'] ?? '' };
      expect(await askToken(poll)).toMatchObject({ error: 'expired_token' });
      const browser = new FormBrowser(issuer);
      const entry = device['verification_uri'] ?? '';
      const page = await (await browser.open(entry)).response.text();
      const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
      const typed = await browser.open(entry, { xsrf, user_code: device['user_code'] ?? '' });
      expect(await typed.response.text()).toContain('The code you entered is incorrect');
    } finally {
      jest.restoreAllMocks();
    }
  });

  it('signs out after confirmation', async () => {
    const browser = new FormBrowser(issuer);
    await signIn(browser, 'ada');
    const page = await (await browser.open(`${issuer}/oauth2/logout`)).response.text();
    expect(page).toContain('No, stay signed in');
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const done = await browser.open(`${issuer}/oauth2/logout/confirm`, { xsrf, logout: 'yes' });
    expect(await done.response.text()).toContain('Sign-out Success');
    const again = await browser.open(authorizationUrl());
    expect(await again.response.text()).toContain('name="login"');
  });

  it('redirects after a sign-out or its refusal to the address that the application requested', async () => {
    const browser = new FormBrowser(issuer);
    const leave = (uri: string) => {
      const wish = new URLSearchParams({ client_id: 'app', post_logout_redirect_uri: uri });
      return browser.open(`${issuer}/oauth2/logout?${wish.toString()}`);
    };
    await signIn(browser, 'ada');
    expect((await leave('http://evil.example/')).response.status).toBe(400);
    const page = await (await leave('http://127.0.0.1:9/')).response.text();
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const { response } = await browser.open(`${issuer}/oauth2/logout/confirm`, { xsrf });
    expect(response.headers.get('location')).toBe('http://127.0.0.1:9/');
  });
});
