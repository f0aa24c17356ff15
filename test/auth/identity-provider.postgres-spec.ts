import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FormBrowser } from '../support/clients/form-browser.js';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

const CALLBACK = 'http://127.0.0.1:8080/callback';
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';
const ODD = { id: 'odd: id+with%20all&of=it', secret: 'a:b+c%25 d%zz/=&' };

const WHO = '{ currentToken { kind clientId userId scopes } }';

function writeClients(): string {
  const confidential = { grant_types: ['client_credentials'], scope: 'profile read', owner: 'ANNA' };
  const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'clients-')), 'clients.json');
  writeFileSync(
    file,
    JSON.stringify([
      { ...confidential, client_id: 'basic', client_secret: 'basic-secret' },
      {
        ...confidential,
        client_id: 'post',
        client_secret: 'post-secret',
        token_endpoint_auth_method: 'client_secret_post',
      },
      { ...confidential, client_id: ODD.id, client_secret: ODD.secret },
      { ...confidential, client_id: 'ben', client_secret: 'ben-secret', owner: null },
      { ...confidential, client_id: 'left', client_secret: 'left-secret', owner: 'who-has-left' },
      {
        client_id: 'app',
        client_name: 'App',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token', DEVICE_CODE],
        redirect_uris: [CALLBACK],
        scope: 'openid profile read',
      },
    ]),
  );
  return file;
}

/** RFC 6749 §2.3.1: form-urlencoded first, then joined by a colon, then Base64. */
function basic(id: string, secret: string): Record<string, string> {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return { authorization: `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}` };
}

describe('the embedded identity provider', () => {
  const service = TestService.forSuite({
    ldif: buildLdif([
      { id: 'anna', name: 'Anna' },
      { id: 'ben', name: 'Ben' },
    ]),
    environment: { AUTH_EMBEDDED_CLIENTS: writeClients() },
  });

  async function requestToken(body: Record<string, string>, headers: Record<string, string> = {}) {
    const response = await fetch(`${service.url}/oauth2/token`, {
      method: 'POST',
      headers,
      body: new URLSearchParams(body),
    });
    return {
      status: response.status,
      challenge: response.headers.get('www-authenticate'),
      body: (await response.json()) as Record<string, string>,
    };
  }

  function requestOwnToken(body: Record<string, string>, headers?: Record<string, string>) {
    return requestToken({ grant_type: 'client_credentials', ...body }, headers);
  }

  /** The API's response about a token. */
  async function who(token: string | undefined) {
    const { status, data } = await service.query(WHO, { authorization: `Bearer ${token ?? ''}` });
    return { status, ...(data?.['currentToken'] as object | undefined) };
  }

  it.each<[string, Record<string, string>, Record<string, string>, string]>([
    ['its secret in the header', {}, basic('basic', 'basic-secret'), 'basic'],
    ['its secret in the body', { client_id: 'post', client_secret: 'post-secret' }, {}, 'post'],
    ['an id and a secret with special characters', {}, basic(ODD.id, ODD.secret), ODD.id],
  ])('issues a token for its owner to a client with %s', async (_case, body, headers, clientId) => {
    const { status, body: answer } = await requestOwnToken({ scope: 'read profile', ...body }, headers);
    expect(status).toBe(200);
    expect(answer).toMatchObject({ token_type: 'Bearer', scope: 'read profile' });
    expect(await who(answer['access_token'])).toEqual({
      status: 200,
      kind: 'PERSONAL_ACCESS_TOKEN',
      clientId,
      userId: 'anna',
      scopes: ['profile', 'read'],
    });
    const data = await service.read('{ profile { id user { id } } user(user: {id: "ben"}) { id } }', {
      authorization: `Bearer ${answer['access_token'] ?? ''}`,
    });
    expect(data).toEqual({ profile: { id: 'anna', user: { id: 'anna' } }, user: { id: 'ben' } });
  });

  it.each<[string, Record<string, string>, Record<string, string>]>([
    ['a wrong secret in the header', {}, basic('basic', 'wrong')],
    ['a wrong secret in the body', { client_id: 'post', client_secret: 'wrong' }, {}],
    ['an unknown client', {}, basic('nobody', 'basic-secret')],
    ['no secret', { client_id: 'post' }, {}],
  ])('rejects %s with 401', async (_case, body, headers) => {
    const { status, challenge, body: answer } = await requestOwnToken(body, headers);
    expect({ status, error: answer['error'] }).toEqual({ status: 401, error: 'invalid_client' });
    if ('authorization' in headers) expect(challenge).toMatch(/^Basic realm=/);
  });

  describe('for an application', () => {
    const verifier = randomBytes(32).toString('base64url');
    const challenge = createHash('sha256').update(verifier).digest('base64url');

    function authorizationUrl(parameters: Record<string, string | undefined> = {}): string {
      const given: Record<string, string | undefined> = {
        client_id: 'app',
        response_type: 'code',
        redirect_uri: CALLBACK,
        scope: 'profile read',
        state: 'a-state',
        code_challenge: challenge,
        code_challenge_method: 'S256',
        ...parameters,
      };
      const present = Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== undefined);
      return `${service.config.baseUrl}/oauth2/authorize?${new URLSearchParams(present).toString()}`;
    }

    function callbackOf({ response }: { response: Response }): Record<string, string> {
      const location = new URL(response.headers.get('location') ?? '');
      expect(`${location.origin}${location.pathname}`).toBe(CALLBACK);
      return Object.fromEntries(location.searchParams);
    }

    async function signIn(id: string): Promise<Record<string, string>> {
      const browser = new FormBrowser(service.config.baseUrl);
      const { url } = await browser.open(authorizationUrl());
      return callbackOf(await browser.signIn(url, id));
    }

    function redeem(code: string | undefined, parameters: Record<string, string> = {}) {
      return requestToken({
        grant_type: 'authorization_code',
        client_id: 'app',
        code: code ?? '',
        redirect_uri: CALLBACK,
        code_verifier: verifier,
        ...parameters,
      });
    }

    it('signs a user in with an id in any case, and issues a token for the user', async () => {
      const { code, state, iss } = await signIn('BEN');
      expect({ state, iss }).toEqual({ state: 'a-state', iss: service.config.baseUrl });
      const { body } = await redeem(code);
      expect(await who(body['access_token'])).toEqual({
        status: 200,
        kind: 'ACCESS_TOKEN',
        clientId: 'app',
        userId: 'ben',
        scopes: ['profile', 'read'],
      });
      const refreshed = await requestToken({
        grant_type: 'refresh_token',
        client_id: 'app',
        refresh_token: body['refresh_token'] ?? '',
      });
      expect(await who(refreshed.body['access_token'])).toMatchObject({ status: 200, userId: 'ben' });
    });

    it.each([
      ['no code challenge', { code_challenge: undefined, code_challenge_method: undefined }],
      ['a plain one', { code_challenge_method: 'plain' }],
    ])('rejects %s', async (_case, parameters) => {
      const answer = await new FormBrowser(service.config.baseUrl).open(authorizationUrl(parameters));
      expect(callbackOf(answer)).toMatchObject({ error: 'invalid_request', state: 'a-state' });
    });

    it('rejects a code without its verifier, with another one, or used before', async () => {
      expect((await redeem((await signIn('anna'))['code'], { code_verifier: '' })).status).toBe(400);
      const other = await redeem((await signIn('anna'))['code'], { code_verifier: 'x'.repeat(43) });
      expect(other).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
      const { code } = await signIn('anna');
      expect((await redeem(code)).status).toBe(200);
      expect(await redeem(code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    });
  });
});
