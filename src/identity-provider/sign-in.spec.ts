import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { decodeJwt } from 'jose';
import {
  type EmbeddedProvider,
  startEmbeddedProvider,
} from '../../test/support/builders/embedded-provider.js';
import { FormBrowser } from '../../test/support/clients/form-browser.js';
import { DEVICE_CODE } from './clients.js';
import { SAMPLE_PEOPLE } from './people.js';

const PEOPLE = ['ada', 'grace'];
const ADA = { givenName: 'Ada', familyName: null, email: 'ada@example.org' };
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
      findPerson: (id) =>
        Promise.resolve(PEOPLE.includes(id) ? { ...ADA, id, name: id.toUpperCase() } : null),
      people: [{ id: 'grace', name: 'Grace', about: 'of the sample' }],
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
    return browser.open(url, { id, answer: 'continue' });
  }

  async function redeem(code: string | undefined): Promise<Record<string, string>> {
    return askToken({
      grant_type: 'authorization_code',
      code: code ?? '',
      redirect_uri: CALLBACK,
      code_verifier: verifier,
    });
  }

  it('shows application and scopes, and loads and runs nothing', async () => {
    const { response, url } = await new FormBrowser(issuer).open(authorizationUrl());
    expect(url).toMatch(/\/interaction\//);
    expect(response.status).toBe(200);
    const policy = response.headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none'; img-src data:; .*; style-src 'sha256-[^ ]*'$/);
    expect(policy).not.toContain('script-src');
    const page = await response.text();
    expect(page).toContain('<strong>Time &amp; table</strong> asks to');
    expect(page).toContain('asks for no password');
    expect(page).not.toContain('<script');
  });

  it('gives the application a token for the user', async () => {
    const callback = callbackOf(await signIn(new FormBrowser(issuer), 'ada'));
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

  it('offers people, whose button is enough to sign in', async () => {
    const page = await (await new FormBrowser(issuer).open(authorizationUrl())).response.text();
    expect(page).toContain(
      '<button name="id" value="grace" class="quiet"><strong>Grace</strong> of the sample',
    );
    const browser = new FormBrowser(issuer);
    const { url } = await browser.open(authorizationUrl());
    const { code } = callbackOf(await browser.open(url, { id: 'grace' }));
    expect(decodeJwt((await redeem(code))['access_token'] ?? '')).toMatchObject({ sub: 'grace' });
  });

  it('offers people of the sample who exist', () => {
    const sample = readFileSync('sample/directory.ldif', 'utf8');
    expect(SAMPLE_PEOPLE.filter(({ id }) => !sample.includes(`\nuid: ${id}\n`))).toEqual([]);
  });

  it('asks again if the id is unknown', async () => {
    const { url, response } = await signIn(new FormBrowser(issuer), '<nobody>');
    expect(url).toMatch(/\/interaction\//);
    expect(response.status).toBe(422);
    const page = await response.text();
    expect(page).toContain('No person in the directory has the id «&lt;nobody&gt;».');
  });

  it('reports to the application that the user canceled', async () => {
    const browser = new FormBrowser(issuer);
    const { url } = await browser.open(authorizationUrl());
    expect(callbackOf(await browser.open(url, { answer: 'cancel' }))).toMatchObject({
      error: 'access_denied',
      state: 'a-state',
    });
  });

  it('does nothing for a form without the cookie of the sign-in', async () => {
    const { url } = await new FormBrowser(issuer).open(authorizationUrl());
    const { response } = await new FormBrowser(issuer).open(url, { id: 'ada', answer: 'continue' });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('This sign-in is over.');
  });

  it('rejects a form that is too long', async () => {
    const { response } = await signIn(new FormBrowser(issuer), 'a'.repeat(5000));
    expect(response.status).toBe(413);
  });

  it('remembers the user, and allows another user to sign in', async () => {
    const browser = new FormBrowser(issuer);
    await signIn(browser, 'ada');
    const { url, response } = await browser.open(authorizationUrl());
    expect(await response.text()).toContain('value="ada"');
    const switching = await browser.open(url, { id: 'grace', answer: 'continue' });
    // The provider first ends the other session, by a form that submits itself.
    const form = await switching.response.text();
    const [, action = ''] = /action="([^"]+)"/.exec(form) ?? [];
    const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(form) ?? [];
    const { code } = callbackOf(await browser.open(action, { xsrf, logout: 'yes' }));
    expect(decodeJwt((await redeem(code))['access_token'] ?? '').sub).toBe('grace');
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
    expect(await response.text()).toContain('This did not work');
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
    const secretOf = async ({ response }: { response: Response }) =>
      /name="xsrf" value="([^"]+)"/.exec(await response.text())?.[1] ?? '';
    const entry = device['verification_uri'] ?? '';
    const wrong = await browser.open(entry, {
      xsrf: await secretOf(await browser.open(entry)),
      user_code: 'BBBB-BBBB',
    });
    expect(wrong.response.status).toBe(400);
    const wrongPage = await wrong.response.text();
    expect(wrongPage).toContain('No device shows this code.');

    const form = {
      xsrf: /name="xsrf" value="([^"]+)"/.exec(wrongPage)?.[1] ?? '',
      user_code: device['user_code'] ?? '',
    };
    const confirmation = await (await browser.open(entry, form)).response.text();
    expect(confirmation).toContain('<strong>Time &amp; table</strong> should show this code');
    expect(confirmation).toContain(device['user_code']);
    const { url } = await browser.open(entry, { ...form, confirm: 'yes' });
    const done = await browser.open(url, { id: 'ada', answer: 'continue' });
    expect(await done.response.text()).toContain('Your device is connected.');

    // Of two concurrent polls, one gets a token.
    const answers = await Promise.all([askToken(poll), askToken(poll)]);
    const tokens = answers.flatMap((answer) => answer['access_token'] ?? []);
    expect(answers.map(({ error }) => error).sort()).toEqual(['invalid_grant', undefined]);
    expect(tokens.map((token) => decodeJwt(token))).toMatchObject([
      { sub: 'ada', scope: 'read', client_id: 'app' },
    ]);
  });

  it('rejects an expired code as expired, from the device and from the user', async () => {
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
      expect([typed.response.status, await typed.response.text()]).toEqual([
        400,
        expect.stringContaining('This code has expired.') as string,
      ]);
    } finally {
      jest.restoreAllMocks();
    }
  });

  it('signs out after confirmation', async () => {
    const browser = new FormBrowser(issuer);
    await signIn(browser, 'ada');
    const page = await (await browser.open(`${issuer}/oauth2/logout`)).response.text();
    expect(page).toContain('Stay signed in');
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const done = await browser.open(`${issuer}/oauth2/logout/confirm`, { xsrf, logout: 'yes' });
    expect(await done.response.text()).toContain('You are signed out.');
    const again = await browser.open(authorizationUrl());
    expect(await again.response.text()).not.toContain('value="ada"');
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
    expect(page).toContain('<strong>Time &amp; table</strong> asks you to sign out');
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const { response } = await browser.open(`${issuer}/oauth2/logout/confirm`, { xsrf });
    expect(response.headers.get('location')).toBe('http://127.0.0.1:9/');
  });
});
