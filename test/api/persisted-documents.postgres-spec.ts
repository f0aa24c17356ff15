import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, get, type HttpAnswer, post, refusalOf } from '../support/clients/http.js';
import { TestRedis } from '../support/servers/redis.js';
import { TestService } from '../support/servers/service.js';

const execute = promisify(execFile);
const CLIENTS = join(__dirname, '../support/clients/persisted-clients.mjs');
const LDIF = buildLdif([{ id: 'anna', name: 'Anna' }]);
const ANNA = { user: { name: 'Anna' } };
const UNKNOWN = [200, 'PERSISTED_QUERY_NOT_FOUND'];

let lastDocument = 0;
/** A document that was never sent. */
const newDocument = (fields = 'name') =>
  `query Q${++lastDocument} { user(user: {id: "anna"}) { ${fields} } }`;
const sha256Of = (text: string) => hash('sha256', text);
const persisted = (sha256Hash: unknown, version: unknown = 1) => ({
  extensions: { persistedQuery: { version, sha256Hash } },
});
const byHash = (query: string) => persisted(sha256Of(query));

function argumentOf({ body }: HttpAnswer): unknown {
  const { errors } = JSON.parse(body) as { errors: { extensions: Record<string, unknown> }[] };
  return errors[0]?.extensions['argument'];
}

describe('an automatic persisted query', () => {
  const service = TestService.forSuite({ ldif: LDIF });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read');
  });

  /** Sends a body by POST with the token of a principal. */
  const sendBody = (body: object, token = authorization) => post(service, body, { authorization: token });

  async function register(query: string, token = authorization): Promise<void> {
    expect((await sendBody({ query, ...byHash(query) }, token)).status).toBe(200);
  }

  it.each(['application/json', 'application/graphql-response+json'])(
    'is unknown until it is registered, as Apollo Server answers it, as %s',
    async (accept) => {
      const query = newDocument();
      const unknown = await post(service, byHash(query), { authorization, accept });
      expect(refusalOf(unknown)).toEqual(UNKNOWN);
      const { errors } = JSON.parse(unknown.body) as { errors: { message: string }[] };
      expect(errors.map(({ message }) => message)).toEqual(['PersistedQueryNotFound']);
      expect(unknown.headers['cache-control']).toBe('no-store');
      expect(dataOf(await sendBody({ query, ...byHash(query) }))).toEqual(ANNA);
      for (let time = 0; time < 3; time++)
        expect(dataOf(await post(service, byHash(query), { authorization, accept }))).toEqual(ANNA);
    },
  );

  it('can be registered and sent by GET', async () => {
    const query = newDocument();
    const extensions = JSON.stringify(byHash(query).extensions);
    expect(refusalOf(await get(service, { extensions }, { authorization }))).toEqual(UNKNOWN);
    expect(dataOf(await get(service, { query, extensions }, { authorization }))).toEqual(ANNA);
    expect(dataOf(await get(service, { extensions }, { authorization }))).toEqual(ANNA);
  });

  it('has variables and a name, and is the same document as its text', async () => {
    const query = 'query A($id: String!) { user(user: {id: $id}) { name } } query B { __typename }';
    const body = { ...byHash(query), operationName: 'A', variables: { id: 'anna' } };
    expect(dataOf(await sendBody({ query, ...body }))).toEqual(ANNA);
    expect(dataOf(await sendBody(body))).toEqual(ANNA);
    expect(dataOf(await sendBody({ ...body, operationName: 'B' }))).toEqual({ __typename: 'Query' });
    expect(refusalOf(await sendBody({ ...body, variables: {} }))).toEqual([400, 'BAD_USER_INPUT']);
    expect(refusalOf(await sendBody({ ...body, operationName: 'C' }))).toEqual([
      400,
      'OPERATION_RESOLUTION_FAILURE',
    ]);
  });

  it('is found by documentId too, with its SHA-256 and the prefix of the draft', async () => {
    const query = newDocument();
    const documentId = `sha256:${sha256Of(query)}`;
    const unknown = await sendBody({ documentId });
    expect(refusalOf(unknown)).toEqual([400, 'PERSISTED_QUERY_NOT_FOUND']);
    expect(unknown.body).toContain('No document has this id');
    await register(query);
    expect(dataOf(await sendBody({ documentId }))).toEqual(ANNA);
    expect(dataOf(await get(service, { documentId }, { authorization }))).toEqual(ANNA);
  });

  it('is a mutation only by POST', async () => {
    const query = 'mutation { updateProfile(input: {name: "A"}) { profile { name } } }';
    const write = await service.accessToken('profile write');
    await register(query, write);
    const extensions = JSON.stringify(byHash(query).extensions);
    const answer = await get(service, { extensions }, { authorization: write });
    expect(refusalOf(answer)).toEqual([405, 'METHOD_NOT_ALLOWED']);
  });

  it.each([
    ['a version other than 1', persisted('0'.repeat(64), 2), 'extensions.persistedQuery.version'],
    ['no version', persisted('0'.repeat(64), null), 'extensions.persistedQuery.version'],
    ['no hash', persisted(undefined), 'extensions.persistedQuery.sha256Hash'],
    ['a hash that is no text', persisted(5), 'extensions.persistedQuery.sha256Hash'],
    ['a short hash', persisted('0'.repeat(63)), 'extensions.persistedQuery.sha256Hash'],
    ['a long hash', persisted('0'.repeat(99_000)), 'extensions.persistedQuery.sha256Hash'],
    ['a hash in capital letters', persisted('A'.repeat(64)), 'extensions.persistedQuery.sha256Hash'],
    ['a malformed documentId', { documentId: 'sha256:../x' }, 'documentId'],
    ['a documentId that is no hash', { documentId: 'members' }, 'documentId'],
    [
      'a persistedQuery that is no object',
      { extensions: { persistedQuery: 'x' } },
      'extensions.persistedQuery.version',
    ],
  ])('is rejected with %s', async (_what, body, argument) => {
    const answer = await sendBody(body);
    expect([...refusalOf(answer), argumentOf(answer)]).toEqual([400, 'BAD_USER_INPUT', argument]);
  });

  it('is rejected with the hash of another text, and not registered', async () => {
    const [query, other] = [newDocument(), newDocument()];
    const answer = await sendBody({ query, ...byHash(other) });
    expect(refusalOf(answer)).toEqual([400, 'BAD_USER_INPUT']);
    for (const each of [query, other]) expect(refusalOf(await sendBody(byHash(each)))).toEqual(UNKNOWN);
  });

  it('is not registered without a token, but executed, and found without one', async () => {
    const query = `query Q${++lastDocument} { buildInfo { __typename } }`;
    const data = { buildInfo: { __typename: 'BuildInfo' } };
    for (let time = 0; time < 3; time++)
      expect(dataOf(await post(service, { query, ...byHash(query) }))).toEqual(data);
    expect(refusalOf(await post(service, byHash(query)))).toEqual(UNKNOWN);
    await register(query);
    expect(dataOf(await post(service, byHash(query)))).toEqual(data);
  });

  it.each([
    ['does not parse', '{', 400],
    ['does not validate', '{ nothing }', 400],
    [
      'exceeds a limit',
      `{ ${Array.from({ length: 31 }, (_, index) => `a${index}: __typename`).join(' ')} }`,
      400,
    ],
    ['is not allowed by the scopes', '{ users(first: 1) { totalCount } }', 403],
  ])('is not registered if it %s', async (_what, query, status) => {
    expect((await sendBody({ query, ...byHash(query) })).status).toBe(status);
    expect(refusalOf(await sendBody(byHash(query)))).toEqual(UNKNOWN);
  });

  it('is registered again by a client whose response was cached with its text', async () => {
    const query = newDocument();
    for (let time = 0; time < 3; time++) await sendBody({ query });
    await register(query);
    expect(dataOf(await sendBody(byHash(query)))).toEqual(ANNA);
  });

  it('is registered up to two million bytes a day for each principal', async () => {
    const greedy = await service.serviceAccount('read');
    const large = () => `${newDocument()} # ${'x'.repeat(95_000)}`;
    const documents = Array.from({ length: 12 }, large);
    for (const query of documents) await register(query, greedy);
    const known = [];
    for (const query of documents) known.push((await sendBody(byHash(query), greedy)).body.includes('Anna'));
    // Two bytes a character.
    expect(known).toEqual(documents.map((_, index) => index < 10));
    const query = large();
    await register(query);
    expect(dataOf(await sendBody(byHash(query)))).toEqual(ANNA);
  });

  it('is sent by Apollo Client and urql as they are, by POST and by GET', async () => {
    const { stdout } = await execute(process.execPath, [CLIENTS, `${service.url}/graphql/v1`, authorization]);
    const results = ['Anna', 'Anna'];
    expect(JSON.parse(stdout)).toEqual([
      { run: 'Apollo', results, requests: ['POST hash', 'POST text', 'POST hash'] },
      { run: 'ApolloByGet', results, requests: ['GET hash', 'POST text', 'GET hash'] },
      { run: 'Urql', results, requests: ['POST hash', 'POST text', 'POST hash'] },
      { run: 'UrqlByGet', results, requests: ['GET hash', 'GET text', 'GET hash'] },
    ]);
  });
});

describe('automatic persisted queries of two processes with Redis', () => {
  let redis: TestRedis;
  let services: TestService[];
  let authorization: string;

  beforeAll(async () => {
    redis = await TestRedis.prepare();
    await redis.start();
    const environment = { REDIS_URL: redis.url };
    const first = await TestService.start({ ldif: LDIF, environment });
    const { database } = first.config;
    const second = await TestService.start({ environment: { ...environment, DATABASE_URL: database.url } });
    services = [first, second];
    authorization = await first.serviceAccount('read');
  });

  afterAll(async () => {
    for (const service of [...services].reverse()) await service.stop();
    await redis.kill();
  });

  const sendTo = (index: number, body: object) => {
    const service = services[index];
    if (service === undefined) throw new Error('There is no such process');
    return post(service, body, { authorization });
  };

  it('are known to both, for a day', async () => {
    const query = newDocument();
    await sendTo(0, { query, ...byHash(query) });
    expect(dataOf(await sendTo(1, byHash(query)))).toEqual(ANNA);
    const key = (await redis.keys()).find((name) => name.endsWith(`:document:${sha256Of(query)}`));
    const left = Number((await redis.sendCommand('TTL', key ?? '')).replace(':', '').split('\n')[0]);
    expect(left).toBeGreaterThan(86_000);
    expect(left).toBeLessThanOrEqual(86_400);
  });

  it('are known to both again after a process that knows them registers them again', async () => {
    const query = newDocument();
    await sendTo(0, { query, ...byHash(query) });
    const key = (await redis.keys()).find((name) => name.endsWith(`:document:${sha256Of(query)}`));
    await redis.sendCommand('DEL', key ?? '');
    expect(refusalOf(await sendTo(1, byHash(query)))).toEqual(UNKNOWN);
    await sendTo(0, { query, ...byHash(query) });
    expect(dataOf(await sendTo(1, byHash(query)))).toEqual(ANNA);
  });

  it('are not taken from Redis if another text has the hash', async () => {
    const [query, other] = [newDocument(), newDocument()];
    await sendTo(0, { query, ...byHash(query) });
    const prefix = (await redis.keys())
      .find((name) => name.includes(':document:'))
      ?.replace(/document:.*/, '');
    await redis.sendCommand('SET', `${prefix}document:${sha256Of(other)}`, query);
    expect(refusalOf(await sendTo(1, byHash(other)))).toEqual(UNKNOWN);
  });

  it('stay usable in each process while Redis is gone', async () => {
    const query = newDocument();
    await redis.kill();
    try {
      for (let time = 0; time < 2; time++) await sendTo(0, { query, ...byHash(query) });
      expect(dataOf(await sendTo(0, byHash(query)))).toEqual(ANNA);
      expect(refusalOf(await sendTo(1, byHash(query)))).toEqual(UNKNOWN);
    } finally {
      await redis.start();
    }
  });
});
