import { buildLdif } from '../support/builders/directory.js';
import { dataOf, post, refusalOf, send } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { TestProxy } from '../support/servers/proxy.js';
import { TestService } from '../support/servers/service.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

const READ = '{ user(user: {id: "anna"}) { id } }';
const ANNA = { user: { id: 'anna' } };

describe('a service whose database is unavailable', () => {
  let database: TestDatabase;
  let proxy: TestProxy;
  let service: TestService;
  let authorization: string;

  beforeAll(async () => {
    database = await createDatabase();
    const url = new URL(database.url);
    proxy = await TestProxy.start({ host: url.hostname, port: Number(url.port) });
    url.port = String(proxy.port);
    service = await TestService.start({
      ldif: buildLdif([{ id: 'anna' }]),
      environment: { DATABASE_URL: url.href },
    });
    authorization = await service.accessToken('read');
  });

  afterAll(async () => {
    await service.stop();
    await proxy.stop();
    await database.drop();
  });

  afterEach(async () => {
    proxy.restore();
    // A cached response says nothing about the database.
    await service.until(async () => (await readiness())[0] === 200);
    await service.until(async () => (await sendRequest()).status === 200);
  });

  const sendRequest = (query = READ, token = authorization) =>
    post(service, { query }, { authorization: token });

  async function readiness(): Promise<[status: number, database: string | undefined]> {
    const { status, body } = await send(service, { path: '/_readiness' });
    const { details } = JSON.parse(body) as { details: Record<string, { status: string }> };
    return [status, details['database']?.status];
  }

  it('responds with 503 to every kind of client, and recovers when the database is back', async () => {
    const basic = await service.serviceAccount('read');
    expect(dataOf(await sendRequest(READ, basic))).toEqual(ANNA);
    expect(await readiness()).toEqual([200, 'up']);
    proxy.cut();
    for (const answer of [
      await sendRequest(),
      await sendRequest(READ, basic),
      await sendRequest('{ directoryStatus { state } }'),
      await sendRequest('{ buildInfo { __typename } user(user: {id: "anna"}) { id } }'),
      await sendRequest('{ groups(first: 1) { totalCount } search(query: "an", first: 1) { totalCount } }'),
    ]) {
      expect(answer.status).toBe(503);
      expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      const { errors } = JSON.parse(answer.body) as { errors: { extensions: { code: string } }[] };
      expect(new Set(errors.map(({ extensions }) => extensions.code))).toEqual(
        new Set(['SERVICE_UNAVAILABLE']),
      );
      expect(answer.body).not.toMatch(/ECONN|terminated|127\.0\.0\.1/);
    }
    expect(refusalOf(await sendRequest(READ, basic))).toEqual([503, 'SERVICE_UNAVAILABLE']);
    await eventually(readiness, [503, 'down']);

    proxy.restore();
    await service.until(async () => (await readiness())[0] === 200);
    expect(dataOf(await sendRequest(READ, basic))).toEqual(ANNA);
    expect(dataOf(await sendRequest())).toEqual(ANNA);
  });

  it('is healthy, and serves requests that need no database', async () => {
    proxy.cut();
    expect((await send(service, { path: '/_health' })).status).toBe(200);
    expect(dataOf(await sendRequest('{ buildInfo { __typename } }'))).toEqual({
      buildInfo: { __typename: 'BuildInfo' },
    });
    expect(dataOf(await sendRequest('{ currentToken { kind } }'))).toEqual({
      currentToken: { kind: 'PERSONAL_ACCESS_TOKEN' },
    });
  });
});
