import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import {
  type EmbeddedProvider,
  startEmbeddedProvider,
} from '../../test/support/builders/embedded-provider.js';
import { type ProviderKeys, publicKeys } from './keys.js';

const ODD_ID = 'odd: id+with%20all&of=it';
const ODD_SECRET = 'a:b+c%25 d%zz/=&';

const CLIENTS = [
  { client_id: 'basic', client_secret: 'basic-secret', scope: 'profile read write', owner: 'ADA' },
  { client_id: 'post', client_secret: 'post-secret', token_endpoint_auth_method: 'client_secret_post' },
  { client_id: ODD_ID, client_secret: ODD_SECRET },
  { client_id: 'bare', client_secret: 'x', scope: '' },
  { client_id: 'gone', client_secret: 'x', owner: 'who-has-left' },
].map((client) => ({ scope: 'read', grant_types: ['client_credentials'], ...client }));

describe('the token endpoint', () => {
  let provider: EmbeddedProvider;
  let issuer: string;
  let keys: ProviderKeys;

  beforeAll(async () => {
    provider = await startEmbeddedProvider(CLIENTS, {
      corsOrigins: ['https://pages.example.org'],
      findPerson: (id) => Promise.resolve(id.toLowerCase() === 'ada' ? { sub: 'ada' } : null),
    });
    ({ issuer, keys } = provider);
  });

  afterAll(() => provider.close());

  function ask(body: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${issuer}/oauth2/token`, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ grant_type: 'client_credentials', ...body }),
    });
  }

  /**
   * Encodes id and secret as form-urlencoded, joins them by a colon, and encodes the result as Base64 (RFC
   * 6749 §2.3.1).
   */
  function basic(id: string, secret: string): Record<string, string> {
    const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
    return {
      authorization: `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`,
    };
  }

  async function tokenOf(response: Response): Promise<string> {
    expect(response.status).toBe(200);
    return ((await response.json()) as { access_token: string }).access_token;
  }

  it('issues a token as in RFC 9068 to a client of client_secret_basic', async () => {
    const response = await ask({ scope: 'read profile' }, basic('basic', 'basic-secret'));
    expect(response.headers.get('cache-control')).toBe('no-store');
    const answer = (await response.json()) as Record<string, string>;
    expect(answer).toEqual({
      access_token: expect.any(String) as string,
      expires_in: 3600,
      scope: 'read profile',
      token_type: 'Bearer',
    });
    const { payload, protectedHeader } = await jwtVerify(
      answer['access_token'] ?? '',
      createLocalJWKSet(publicKeys(keys)),
      { issuer, audience: 'urn:test:audience', typ: 'at+jwt' },
    );
    expect(protectedHeader.alg).toBe('RS256');
    expect(payload).toMatchObject({
      client_id: 'basic',
      scope: 'read profile',
      jti: expect.any(String) as string,
    });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(3600);
  });

  it('issues a token to a client of client_secret_post', async () => {
    const token = await tokenOf(
      await ask({ client_id: 'post', client_secret: 'post-secret', scope: 'read' }),
    );
    expect(decodeProtectedHeader(token).typ).toBe('at+jwt');
  });

  it('accepts an id and a secret with special characters by Basic', async () => {
    const token = await tokenOf(await ask({ scope: 'read' }, basic(ODD_ID, ODD_SECRET)));
    expect(decodeJwt(token)).toMatchObject({ client_id: ODD_ID, sub: ODD_ID });
  });

  it("issues a token for the owner of its client, with the directory's spelling of the id", async () => {
    const token = await tokenOf(await ask({ scope: 'read' }, basic('basic', 'basic-secret')));
    expect(decodeJwt(token).sub).toBe('ada');
  });

  it('issues a token without a user to a client without an owner', async () => {
    const token = await tokenOf(
      await ask({ client_id: 'post', client_secret: 'post-secret', scope: 'read' }),
    );
    expect(decodeJwt(token).sub).toBe('post');
  });

  it('names an owner who is not in the directory: each request resolves the user', async () => {
    const token = await tokenOf(await ask({ scope: 'read' }, basic('gone', 'x')));
    expect(decodeJwt(token).sub).toBe('who-has-left');
  });

  it('grants all registered scopes to a client that requests none', async () => {
    const response = await ask({}, basic('basic', 'basic-secret'));
    expect(await response.clone().json()).toMatchObject({ scope: 'profile read write' });
    expect(decodeJwt(await tokenOf(response))).toMatchObject({ scope: 'profile read write' });
  });

  it('takes an empty scope for a missing one', async () => {
    const token = await tokenOf(await ask({ scope: '' }, basic('basic', 'basic-secret')));
    expect(decodeJwt(token)).toMatchObject({ scope: 'profile read write' });
  });

  it('grants no scope to a client without registered scopes', async () => {
    const token = await tokenOf(await ask({}, basic('bare', 'x')));
    expect(decodeJwt(token)).not.toHaveProperty('scope');
  });

  it.each([
    ['a wrong secret', {}, basic('basic', 'wrong')],
    ['an unknown client', {}, basic('nobody', 'basic-secret')],
    ['no secret', { client_id: 'post' }, {}],
  ])('rejects %s with 401 and invalid_client', async (_case, body, headers) => {
    const response = await ask({ scope: 'read', ...body }, headers);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: 'invalid_client' });
    const challenge = response.headers.get('www-authenticate');
    if ('authorization' in headers) expect(challenge).toMatch(/^Basic realm=/);
  });

  it('ignores scopes that it does not know, and those that are not registered', async () => {
    const response = await ask({ scope: 'read everything directory openid' }, basic('basic', 'basic-secret'));
    expect(await response.clone().json()).toMatchObject({ scope: 'read' });
    expect(decodeJwt(await tokenOf(response))).toMatchObject({ scope: 'read' });
  });

  it.each(['directory', 'everything', 'everything directory', 'openid'])(
    'rejects the scope %s, of which nothing is registered, with invalid_scope',
    async (scope) => {
      const response = await ask({ scope }, basic('basic', 'basic-secret'));
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: 'invalid_scope' });
    },
  );

  it.each(['', '/', '/graphql/v1', '/changes/v1'])(
    'grants a token for the resource «BASE_URL%s»',
    async (path) => {
      const response = await ask(
        { scope: 'read', resource: `${issuer}${path}` },
        basic('basic', 'basic-secret'),
      );
      expect(decodeJwt(await tokenOf(response))).toMatchObject({ scope: 'read' });
    },
  );

  it('rejects another audience with invalid_target', async () => {
    const response = await ask({ resource: 'https://other.example/' }, basic('basic', 'basic-secret'));
    expect(await response.json()).toMatchObject({ error: 'invalid_target' });
  });

  it('rejects a grant that is not registered with an error', async () => {
    const response = await ask(
      { grant_type: 'authorization_code', code: 'x' },
      basic('basic', 'basic-secret'),
    );
    expect(response.status).toBe(400);
  });

  it('rejects a JSON body', async () => {
    const response = await fetch(`${issuer}/oauth2/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...basic('basic', 'basic-secret') },
      body: JSON.stringify({ grant_type: 'client_credentials' }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 'invalid_request' });
  });

  it('publishes no private part of its keys', async () => {
    const response = await fetch(`${issuer}/oauth2/jwks`);
    expect(await response.json()).toEqual(publicKeys(keys));
    expect(JSON.stringify(publicKeys(keys))).not.toMatch(/"(d|p|q|dp|dq|qi)":/);
  });

  it('allows pages of the configured origins to request tokens, and no others', async () => {
    const allowed = async (origin: string) => {
      const headers = { origin, ...basic('basic', 'basic-secret') };
      return (await ask({}, headers)).headers.get('access-control-allow-origin');
    };
    expect(await allowed('https://pages.example.org')).toBe('https://pages.example.org');
    expect(await allowed('https://evil.example')).toBeNull();
  });
});
