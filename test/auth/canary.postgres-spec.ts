import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../support/clients/command.js';
import { PICTURE, buildLdif } from '../support/builders/directory.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { type HttpAnswer, post, send } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { directorySettings } from '../support/servers/ldap.js';
import { TestProxy } from '../support/servers/proxy.js';
import { REDIS_PASSWORD, TestRedis } from '../support/servers/redis.js';
import { sendEverywhere } from '../support/clients/secret-requests.js';
import { MIRROR_PASSWORD, startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';
import { variable } from '../support/servers/store.js';
import { WatchedService } from '../support/watched-service.js';

/** Secrets that a test searches for in all encodings in which they can occur. */
class Canaries {
  private readonly spellings = new Map<string, string>();

  /** @param kind the name that a match is reported by */
  add(kind: string, secret: string): string {
    const base64 = Buffer.from(secret).toString('base64');
    const percent = encodeURIComponent(secret);
    for (const spelling of [
      secret,
      base64.replace(/=+$/, ''),
      percent,
      JSON.stringify(secret).slice(1, -1),
    ]) {
      this.spellings.set(spelling, kind);
    }
    return secret;
  }

  /** Returns the kinds of the secrets that a text contains, ignoring case. */
  foundIn(text: string): string[] {
    const folded = text.toLowerCase();
    const found = [...this.spellings].filter(([spelling]) => folded.includes(spelling.toLowerCase()));
    return [...new Set(found.map(([, kind]) => kind))];
  }
}

const NAME = 'Kanaria Vogelsang';
const EMAIL = 'kanaria.vogelsang@aviary.example';
const TELEPHONE = '+41 44 555 73 91';
/** A user with access to everything, and a user whose data others must not see. */
const LDIF = buildLdif(
  [
    {
      id: 'anna',
      name: NAME,
      givenName: 'Kanaria',
      familyName: NAME,
      email: EMAIL,
      phone: TELEPHONE,
      photo: PICTURE,
    },
    { id: 'ben' },
  ],
  [{ id: 'club', members: ['anna'], owners: ['ben'] }],
);

/** Data that must not occur in a log, besides names of users. */
const DATABASE_PASSWORD = 'canary-of-the-database';
const INTROSPECTION_SECRET = 'service-secret';
const CLIENT_SECRET = 'canary-of-a-client';
const SIGNING_KEY = randomBytes(32).toString('hex');

const PERSON = '{ user(user: {id: "anna"}) { id name givenName familyName email photo } }';

const canaries = new Canaries();
canaries.add('name', NAME);
canaries.add('e-mail address', EMAIL);
canaries.add('telephone number', TELEPHONE);
canaries.add('password of the database', DATABASE_PASSWORD);
canaries.add('password of Redis', REDIS_PASSWORD);
canaries.add('password of the directory', MIRROR_PASSWORD);
canaries.add('secret of introspection', INTROSPECTION_SECRET);
canaries.add('secret of a client', CLIENT_SECRET);
canaries.add('signing key', SIGNING_KEY);
canaries.add(
  'bytes of the signing key',
  Buffer.from(SIGNING_KEY, 'hex').toString('base64').replace(/=+$/, ''),
);

/** Properties that errors of libraries often have. */
const FAULT = {
  parameters: [NAME, EMAIL, TELEPHONE],
  detail: `Key (email)=(${EMAIL}) already exists.`,
  config: { url: `postgres://directory:${DATABASE_PASSWORD}@127.0.0.1/directory`, password: MIRROR_PASSWORD },
  headers: {
    authorization: `Basic ${Buffer.from(`directory-service:${INTROSPECTION_SECRET}`).toString('base64')}`,
  },
  cause: Object.assign(new Error('What it came from'), { secret: SIGNING_KEY }),
};

describe('a service with all its dependencies', () => {
  let issuer: ExternalIssuerProcess;
  let redis: TestRedis;
  let slapd: TestSlapd;
  let proxy: TestProxy;
  let service: WatchedService;
  let metricsPort: number;
  const tokens: Record<'reader' | 'opaque' | 'ben' | 'bad' | 'account', string> = {
    reader: '',
    opaque: '',
    ben: '',
    bad: '',
    account: '',
  };

  beforeAll(async () => {
    const { hostname, port } = new URL(variable('TEST_POSTGRES_URL'));
    redis = await TestRedis.prepare();
    [issuer, slapd, proxy, metricsPort] = await Promise.all([
      ExternalIssuerProcess.start(),
      startSlapd({ ldif: LDIF }),
      TestProxy.start({ host: hostname, port: Number(port) }),
      findFreePort(),
      redis.start(),
    ]);
    service = await WatchedService.start({
      // The server accepts any password, which the service does not know.
      reachDatabase: (url) => {
        const reached = new URL(url);
        return Object.assign(reached, { password: DATABASE_PASSWORD, port: String(proxy.port) }).href;
      },
      environment: {
        ...directorySettings(slapd),
        ...issuer.environment,
        AUTH_INTROSPECTION_CLIENT_SECRET: INTROSPECTION_SECRET,
        REDIS_URL: redis.url,
        // No server listens there.
        DATABASE_READ_URL: `postgres://directory:${DATABASE_PASSWORD}@127.0.0.1:1/directory`,
        URL_SIGNING_KEYS: SIGNING_KEY,
        LOG_LEVEL: 'verbose',
        LOG_REQUESTS: 'true',
        METRICS_PORT: String(metricsPort),
      },
    });
    tokens.reader = await issuer.sign({ payload: { scope: 'read directory write', sub: 'reader' } });
    tokens.ben = await issuer.sign({ payload: { scope: 'profile', sub: 'ben' } });
    tokens.opaque = await issuer.opaque({ active: true, scope: 'profile', sub: 'ben', client_id: 'x' });
    tokens.bad = await issuer.sign({ stranger: true });
    tokens.account = `Basic ${await createServiceAccount()}`;
    for (const [name, token] of Object.entries(tokens))
      canaries.add(`token (${name})`, token.replace(/^\w+ /, ''));
  });

  /** Created by the command, which prints the token once. */
  async function createServiceAccount(): Promise<string> {
    const { database } = service.config;
    const environment = { DATABASE_URL: database.url };
    const run = (...args: string[]) => runCommand(['service-account', ...args, '--json'], environment);
    const { stdout } = await run('create', '--id', 'canary', '--name', 'Canary', '--scopes', 'read');
    const { token } = JSON.parse(stdout) as { token: string };
    const [, secret = ''] = Buffer.from(token, 'base64').toString().split(':');
    canaries.add('secret of a service account', secret);
    const { stdout: listed } = await run('list');
    expect(listed).toContain('canary');
    expect(canaries.foundIn(listed)).toEqual([]);
    return token;
  }

  afterAll(async () => {
    await service.stop();
    await Promise.all([issuer.stop(), redis.kill(), slapd.remove(), proxy.stop()]);
  });

  const sendRequest = (query: string, authorization?: string): Promise<HttpAnswer> =>
    post(service, { query }, authorization === undefined ? {} : { authorization });

  /** The URL of the photo, whose signature is a secret, too. */
  async function photoUrl(): Promise<URL> {
    const { body } = await sendRequest(PERSON, tokens.reader);
    expect(body).toContain(NAME);
    const { data } = JSON.parse(body) as { data: { user: { photo: string } } };
    return new URL(data.user.photo);
  }

  it('returns nothing about users to tokens without the scope', async () => {
    const queries = [
      PERSON,
      '{ users(first: 9) { nodes { name email } } }',
      '{ group(group: {id: "club"}) { members(first: 9) { nodes { user { name email } } } } }',
      '{ search(query: "kanaria", first: 9) { nodes { ... on User { name } } } }',
      '{ profile { name email groups(first: 9) { nodes { group { members(first: 9) { nodes { user { name email } } } } } } } }',
      '{ changes(last: 99) { nodes { userId user { name email } } } }',
      'mutation { updateUser(input: {user: {id: "anna"}, email: ""}) { preview { ldif } } }',
      'mutation { removeGroupMember(input: {group: {id: "club"}, user: {id: "anna"}}) { preview { ldif } } }',
      '{ currentToken { userId clientId } directoryStatus { state } buildInfo { version } }',
    ];
    for (const authorization of [undefined, tokens.bad, tokens.ben, tokens.opaque]) {
      for (const query of queries) {
        const { body } = await sendRequest(query, authorization);
        expect([query, canaries.foundIn(body)]).toEqual([query, []]);
      }
    }
    for (const path of ['/', '/_health', '/_readiness', '/metrics', '/photo/v1/anna']) {
      const { headers, body } = await send(service, { path });
      expect([path, canaries.foundIn(JSON.stringify(headers) + body)]).toEqual([path, []]);
    }
  });

  it('logs no secret of a request, in any position', async () => {
    const url = await photoUrl();
    const signature = canaries.add('signature', url.searchParams.get('signature') ?? '');
    expect((await send(service, { path: url.pathname + url.search })).status).toBe(200);
    const secrets = [...Object.values(tokens).map((token) => token.replace(/^\w+ /, '')), signature];
    for (const secret of [...secrets, SIGNING_KEY, REDIS_PASSWORD, INTROSPECTION_SECRET, EMAIL, TELEPHONE]) {
      const { around, within } = await sendEverywhere(service, secret, tokens.reader);
      expect([...around, ...within].filter(({ status }) => status === 500)).toEqual([]);
      const leaks = around.filter(({ headers, body }) => (JSON.stringify(headers) + body).includes(secret));
      expect([secret, leaks]).toEqual([secret, []]);
    }
    expect(canaries.foundIn(service.output)).toEqual([]);
    // Each request has a log line.
    expect(service.output.match(/"msg":"request"/g)?.length).toBeGreaterThan(secrets.length * 30);
    expect(canaries.foundIn((await redis.keys()).join('\n'))).toEqual([]);
  });

  it('reports unavailable dependencies without their data', async () => {
    const before = service.output.length;
    await redis.kill();
    await slapd.stop();
    await issuer.pause();
    const unknown = canaries.add('unknown token', 'opaque-canary-that-nobody-knows');
    const answers = [await sendRequest(PERSON, `Bearer ${unknown}`)];
    expect(answers[0]?.status).toBe(503);
    proxy.cut();
    // A request can arrive before the end of the connections.
    for (const request of [
      () => sendRequest(`#\n${PERSON}`, tokens.reader),
      () => send(service, { path: '/_readiness' }),
    ]) {
      const statusOfAnswer = async () => {
        const answer = await request();
        answers.push(answer);
        return answer.status;
      };
      await eventually(statusOfAnswer, 503);
    }
    for (const { headers, body } of answers.filter(({ status }) => status === 503))
      expect(canaries.foundIn(JSON.stringify(headers) + body)).toEqual([]);
    await service.untilPrinted(new RegExp(`^[^]{${before},}Redis is unavailable`));
    await service.untilPrinted(new RegExp(`^[^]{${before},}Synchronization (fails|waits)`));
    proxy.restore();
    expect(canaries.foundIn(service.output)).toEqual([]);
  });

  it('ends after a fault of the program with the location of the fault only', async () => {
    expect(await service.fail('crash', FAULT)).toBe(1);
    expect(service.output).toContain('The program is at fault');
    expect(service.output).toMatch(/at .*watch-main\.mjs:\d+/);
    expect(canaries.foundIn(service.output)).toEqual([]);
  });
});

describe('a service with its own identity provider', () => {
  let service: WatchedService;
  let clients: string;

  beforeAll(async () => {
    clients = join(variable('TEST_WORK_DIRECTORY'), 'canary-clients.json');
    const client = {
      client_id: 'client',
      client_secret: CLIENT_SECRET,
      grant_types: ['client_credentials'],
      scope: 'read',
      owner: 'ben',
    };
    writeFileSync(clients, JSON.stringify([client]));
    service = await WatchedService.start({
      ldif: LDIF,
      environment: {
        AUTH_EMBEDDED_CLIENTS: clients,
        URL_SIGNING_KEYS: SIGNING_KEY,
        LOG_LEVEL: 'verbose',
        LOG_REQUESTS: 'true',
        LOG_FORMAT: 'text',
        DIRECTORY_SYNC_SECONDS: '1',
      },
    });
  });

  afterAll(() => service.stop());

  it('logs neither secrets nor tokens of its clients', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const token = async (secret: string, more: Record<string, string> = {}) => {
      const fields = { grant_type: 'client_credentials', client_id: 'client', scope: 'read', ...more };
      const authorization = `Basic ${Buffer.from(`client:${secret}`).toString('base64')}`;
      return send(service, {
        method: 'POST',
        path: '/oauth2/token',
        headers: { ...form, authorization },
        body: new URLSearchParams(fields).toString(),
      });
    };
    const given = await token(CLIENT_SECRET);
    const { access_token: accessToken } = JSON.parse(given.body) as { access_token: string };
    canaries.add('token of a client', accessToken);
    const refused = [
      await token(canaries.add('wrong secret', 'canary-that-was-guessed')),
      await token(CLIENT_SECRET, { grant_type: 'password', username: EMAIL, password: TELEPHONE }),
      await token(CLIENT_SECRET, { scope: NAME, resource: `urn:${accessToken}` }),
    ];
    for (const { status, headers, body } of refused) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(canaries.foundIn(JSON.stringify(headers) + body)).toEqual([]);
    }
    await sendEverywhere(service, CLIENT_SECRET, `Bearer ${accessToken}`);
    expect(canaries.foundIn(service.output)).toEqual([]);
  });
});
