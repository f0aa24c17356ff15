import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseEnv } from 'node:util';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { TokenVerifier } from '../../src/auth/tokens/token-verifier.js';
import { EmbeddedIssuer, ExternalIssuer } from '../../src/auth/tokens/issuer.js';
import { expectedOf, readMeaning } from '../../src/auth/tokens/claims.js';
import { type Environment, readConfig } from '../../src/config/config.js';
import { errorOf } from '../support/error-of.js';

interface Documented {
  readonly header: { readonly typ?: string };
  readonly payload: JWTPayload & Record<string, unknown>;
}

const sections = readFileSync('docs/identity-providers.md', 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((section) => {
    const [, settings = ''] = /```text\n(.*?)```/s.exec(section) ?? [];
    const [, token = '{}'] = /```json\n(.*?)```/s.exec(section) ?? [];
    const environment: Environment = parseEnv(settings);
    return { environment, token: JSON.parse(token) as Documented };
  });
const now = () => Math.floor(Date.now() / 1000);
const BASE_URL = 'https://school.example.org/directory';

let server: Server;
let privateKey: Parameters<SignJWT['sign']>[0];
let issuer: string;

beforeAll(async () => {
  const pair = await generateKeyPair('RS256');
  privateKey = pair.privateKey;
  const publishedKey = { ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  server = createServer(({ url = '' }, response) => {
    const metadata = { issuer, jwks_uri: `${issuer}/keys` };
    response.end(JSON.stringify(url === '/keys' ? { keys: [publishedKey] } : metadata));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

type Changes = Readonly<Record<string, unknown>>;

/** The documented token of a provider with changes, as its issuer signs it today; undefined removes a claim. */
function sign({ header, payload }: Documented, changes: Changes = {}, typ = header.typ): Promise<string> {
  const times = { iat: now(), nbf: now(), exp: now() + 600 };
  const claims = JSON.parse(JSON.stringify({ ...payload, ...times, iss: issuer, ...changes })) as JWTPayload;
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', kid: 'one', ...(typ !== undefined && { typ }) })
    .sign(privateKey);
}

function verifierFor(environment: Environment): TokenVerifier {
  const config = readConfig({ ...environment, BASE_URL, AUTH_URL: issuer });
  return new TokenVerifier(config, new EmbeddedIssuer());
}

async function judge(environment: Environment, token: string) {
  const { principal } = await verifierFor(environment).verify(token);
  const { subject, clientId, scopes, kind } = principal;
  return { subject, clientId, scopes: [...scopes], kind };
}

async function refusalOf(environment: Environment, token: string): Promise<string> {
  const error = await errorOf(verifierFor(environment).verify(token));
  expect(error).toMatchObject({ code: 'UNAUTHENTICATED' });
  return error.message.replace('The access token is not accepted: ', '');
}

function sectionOf(provider: string) {
  const found = sections.find(({ environment }) => environment['AUTH_PROVIDER'] === provider);
  if (found === undefined) throw new Error(`No section has ${provider}`);
  return found;
}

const USERS: Readonly<Record<string, string>> = {
  entra: 'ada.martin@school.example',
  okta: 'ada.martin@school.example',
};
const documented = sections.map(({ environment }) => environment['AUTH_PROVIDER'] ?? '');

describe.each(documented)('a documented token of %s', (provider) => {
  const { environment, token } = sectionOf(provider);
  const client = () => ['client_id', 'azp', 'appid', 'cid'].find((claim) => claim in token.payload) ?? '';

  it('is accepted, with its user, client and scopes', async () => {
    expect(await judge(environment, await sign(token))).toEqual({
      subject: USERS[provider] ?? 'ada.martin',
      clientId: token.payload[client()],
      scopes: ['profile', 'read'],
      kind: 'ACCESS_TOKEN',
    });
  });

  it('is accepted with the type at+jwt and with the URL of the service as audience', async () => {
    const at = await sign(token, { aud: ['other', `${BASE_URL}/`] }, 'at+jwt');
    expect(await judge(environment, at)).toMatchObject({ scopes: ['profile', 'read'] });
  });

  it('is rejected for another audience, issuer, time or signature', async () => {
    expect(await refusalOf(environment, await sign(token, { aud: 'urn:other' }))).toMatch(
      /^its aud is urn:other, and .+ is expected$/,
    );
    expect(await refusalOf(environment, await sign(token, { iss: 'https://other.example' }))).toBe(
      `its iss is https://other.example, and ${issuer} is expected`,
    );
    expect(await refusalOf(environment, await sign(token, { exp: now() - 61 }))).toMatch(/^it has expired/);
    const signed = await sign(token);
    const forged = `${signed.slice(0, signed.lastIndexOf('.'))}.${Buffer.alloc(256, 1).toString('base64url')}`;
    expect(await refusalOf(environment, forged)).toBe('its signature is wrong');
  });

  it('is rejected by the default, if it is not of RFC 9068', async () => {
    const others = { AUTH_AUDIENCE: environment['AUTH_AUDIENCE'] };
    const outcome = judge(others, await sign(token));
    if (provider === 'generic') await expect(outcome).resolves.toMatchObject({ subject: 'ada.martin' });
    else await expect(outcome).rejects.toThrow(/its typ is (?:JWT|missing), and at\+jwt is expected/);
  });

  it.each<[string, Changes, string?]>([
    ['an ID token by at_hash', { at_hash: 'x' }],
    ['an ID token by c_hash', { c_hash: 'x' }],
    ['an ID token by token_use', { token_use: 'id' }],
    ['an ID token by typ', { typ: 'ID' }],
    ['a refresh token by typ', { typ: 'Refresh' }],
    ['an offline token by typ', { typ: 'Offline' }],
    ['a refresh token by token_use', { token_use: 'refresh_token' }],
    ['a refresh token by token_type', { token_type: 'refresh_token' }],
    ['a logout token by events', { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }],
    ['a logout token by typ', { typ: 'Logout' }],
    ['a logout token by its header', {}, 'logout+jwt'],
    ['a security event by its header', {}, 'secevent+jwt'],
    ['a proof by its header', {}, 'dpop+jwt'],
    ['bound to a key', { cnf: { jkt: 'x' } }],
  ])('is rejected if it is %s', async (...[, changes, typ]) => {
    // With the type of RFC 9068, the type decides.
    if (provider === 'generic' && typ === undefined && !('cnf' in changes)) return;
    expect(await refusalOf(environment, await sign(token, changes, typ))).toMatch(
      /^(?:it is not an access token: |its typ is |it is bound to a key)/,
    );
  });
});

/** ID tokens as the providers document them. Each is for the client, which can be the audience of the service by mistake. */
const ID_TOKENS: [provider: string, claims: Changes, reason: RegExp][] = [
  ['keycloak', { typ: 'ID', azp: 'club-page', sid: 's', auth_time: 1, at_hash: 'h', acr: '1' }, /typ is ID/],
  ['keycloak', { typ: 'ID', azp: 'club-page', preferred_username: 'ada.martin' }, /typ is ID/],
  [
    'entra',
    { name: 'Ada', oid: 'o', rh: 'r', tid: 't', uti: 'u', ver: '2.0', roles: ['read'] },
    /names no client/,
  ],
  ['entra', { nonce: '123', oid: 'o', ver: '2.0' }, /nonce/],
  ['auth0', { sid: 's', name: 'Ada', email: 'ada@school.example', email_verified: true }, /names no client/],
  [
    'okta',
    { ver: 1, jti: 'ID.x', amr: ['pwd'], idp: 'i', auth_time: 1, preferred_username: 'ada' },
    /names no client/,
  ],
  ['zitadel', { azp: 'a', client_id: 'a', amr: ['password'], auth_time: 1, sid: 's' }, /auth_time/],
  [
    'authentik',
    { auth_time: 1, acr: 'a', amr: ['pwd'], nonce: 'n', preferred_username: 'ada.martin' },
    /no uid/,
  ],
  ['hydra', { auth_time: 1, rat: 1, sid: 's', acr: '', amr: null }, /names no client/],
  ['ory', { auth_time: 1, rat: 1, sid: 's', nonce: 'n' }, /nonce/],
];

describe('an ID token', () => {
  it.each(ID_TOKENS)(
    'of %s is rejected, also for an audience of the service: %j',
    async (provider, claims, reason) => {
      const { environment } = sectionOf(provider === 'ory' ? 'hydra' : provider);
      const payload = { sub: 'ada.martin', jti: 'x', ...claims };
      const audience = environment['AUTH_AUDIENCE']?.split(',')[0];
      const token = await sign({ header: { typ: 'JWT' }, payload }, { aud: audience });
      expect(await refusalOf({ ...environment, AUTH_PROVIDER: provider }, token)).toMatch(reason);
    },
  );
});

describe('the token of a client itself', () => {
  it.each<[provider: string, claims: Changes, user: string | null]>([
    [
      'keycloak',
      { client_id: 'Reports', azp: 'Reports', preferred_username: 'service-account-reports' },
      null,
    ],
    ['auth0', { azp: 'abc', sub: 'abc@clients', gty: 'client-credentials' }, null],
    ['okta', { cid: 'abc', sub: 'abc' }, null],
    ['hydra', { client_id: 'ada.martin', sub: 'ada.martin' }, null],
    ['generic', { client_id: 'ada.martin', sub: 'ada.martin' }, null],
    ['hydra', { client_id: 'abc', sub: 'ada.martin', gty: 'client_credentials' }, 'ada.martin'],
  ])('of %s acts for no user, unless it names one: %j', async (provider, claims, user) => {
    const { environment, token } = sectionOf(provider);
    const { AUTH_USER_CLAIM: _claim, ...own } = environment;
    const found = await judge(own, await sign(token, claims));
    expect(found).toMatchObject({ subject: user, kind: 'PERSONAL_ACCESS_TOKEN' });
  });
});

describe('a claim', () => {
  const meaningOf = (environment: Environment, claims: Changes) => {
    const config = readConfig({ AUTH_URL: 'https://login.example.org', ...environment });
    const { user, clientId, scopes } = readMeaning(claims, expectedOf(config));
    return { user, clientId, scopes };
  };

  it.each<[string, Environment, Changes, string[]]>([
    ['scope as a list', {}, { scope: ['read', 'write'] }, ['read', 'write']],
    ['scp as text', {}, { scp: 'read  write other' }, ['read', 'write']],
    ['scope and scp', {}, { scope: 'read', scp: ['write', 7] }, ['read', 'write']],
    ['no roles of another provider', {}, { roles: ['read'] }, []],
    ['roles of Entra ID', { AUTH_PROVIDER: 'entra' }, { roles: ['read'] }, ['read']],
    ['no roles beside scopes', { AUTH_PROVIDER: 'entra' }, { roles: ['write'], scp: 'read' }, ['read']],
    [
      'a path',
      { AUTH_SCOPE_CLAIM: 'realm_access.roles' },
      { realm_access: { roles: ['read'] }, scope: 'write' },
      ['read'],
    ],
    ['a path to nothing', { AUTH_SCOPE_CLAIM: 'a.constructor.name' }, { a: 'read', scope: 'write' }, []],
    [
      'a name with dots',
      { AUTH_SCOPE_CLAIM: 'https://x.example/scopes' },
      { 'https://x.example/scopes': 'read' },
      ['read'],
    ],
  ])('has the scopes: %s', (_case, environment, claims, scopes) =>
    expect(meaningOf(environment, claims).scopes).toEqual(scopes),
  );

  it('names the client by the first claim that has one', () => {
    expect(meaningOf({}, { azp: 'a', client_id: 'b' }).clientId).toBe('b');
    expect(meaningOf({}, { azp: 'a' }).clientId).toBe('a');
  });
});

describe('the settings of tokens', () => {
  it.each<[Environment, RegExp]>([
    [{ AUTH_PROVIDER: 'azure' }, /^AUTH_PROVIDER must be keycloak, entra/],
    [{ AUTH_TOKEN_TYPE: 'JWT' }, /^AUTH_TOKEN_TYPE must be at\+jwt or any/],
    [{ AUTH_USER_FIELD: 'pager' }, /^AUTH_USER_FIELD must be .* pager is none$/],
    [{ AUTH_USER_FIELD: 'name' }, /^AUTH_USER_FIELD must be .* name is none$/],
  ])('are rejected with a reason: %j', (environment, reason) =>
    expect(() => readConfig({ AUTH_URL: 'https://login.example.org', ...environment })).toThrow(reason),
  );
});

it.each([
  [1_000_000, 'is read'],
  [1_000_001, 'is rejected'],
])('a response of %i characters %s', async (length, outcome) => {
  const large = createServer((_request, response) => response.end('{"active":true}'.padEnd(length)));
  await once(large.listen(0, '127.0.0.1'), 'listening');
  try {
    const url = `http://127.0.0.1:${(large.address() as AddressInfo).port}/`;
    const issuer = new ExternalIssuer(url, {
      introspection: { url, client: null, mayLackAudience: false },
      certificates: null,
    });
    const answered = issuer.introspect('token').then(
      () => 'is read',
      () => 'is rejected',
    );
    expect(await answered).toBe(outcome);
  } finally {
    large.close();
  }
});
