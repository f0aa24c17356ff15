import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestProcess } from '../support/clients/command.js';
import { type HttpAnswer, post, send } from '../support/clients/http.js';
import { readSamples } from '../support/clients/metrics.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { TestProxy } from '../support/servers/proxy.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

describe('a service that is started while its database', () => {
  let database: TestDatabase;
  let proxy: TestProxy;
  let config: { host: string; port: number };
  let metricsPort: number;
  const running: TestProcess[] = [];

  beforeAll(async () => {
    database = await createDatabase();
    const { hostname, port } = new URL(database.url);
    proxy = await TestProxy.start({ host: hostname, port: Number(port) });
  });

  beforeEach(async () => {
    config = { host: '127.0.0.1', port: await findFreePort() };
    metricsPort = await findFreePort();
  });

  afterEach(async () => {
    for (const process of running.splice(0)) if (!process.hasEnded) await process.kill('SIGKILL');
    proxy.restore();
  });

  afterAll(async () => {
    await proxy.stop();
    await database.drop();
  });

  function start(change: (url: URL) => void = () => undefined): TestProcess {
    const url = new URL(database.url);
    url.port = String(proxy.port);
    change(url);
    const process = TestProcess.start('main', [], {
      PORT: String(config.port),
      METRICS_PORT: String(metricsPort),
      DATABASE_URL: url.href,
    });
    running.push(process);
    return process;
  }

  const sendRequest = (path: string, agent?: Agent): Promise<HttpAnswer> =>
    send({ config }, agent === undefined ? { path } : { path, agent });

  /** Whether readiness reports the database as available, as it does before the directory has been read. */
  async function seesDatabase(agent: Agent): Promise<boolean> {
    const { details } = JSON.parse((await sendRequest('/_readiness', agent)).body) as {
      details: { database: { status: string } };
    };
    return details.database.status === 'up';
  }

  async function readDatabaseUp(): Promise<number | undefined> {
    const { body } = await send({ config: { ...config, port: metricsPort } }, { path: '/metrics' });
    return readSamples(body).find(({ name }) => name === 'directory_database_up')?.value;
  }

  async function untilHealthy(): Promise<void> {
    while ((await sendRequest('/_health').catch(() => null))?.status !== 200) await sleep(20);
  }

  it('is unavailable listens, reports it, and starts when it is available, without losing a connection', async () => {
    proxy.refuse();
    const process = start();
    await untilHealthy();
    const statuses: number[] = [];
    const agent = new Agent({ keepAlive: true });
    const agents = [undefined, agent];
    const watched = new AbortController();
    const watching = (async () => {
      while (!watched.signal.aborted) {
        for (const each of agents) statuses.push((await sendRequest('/_health', each)).status);
        await sleep(20);
      }
    })();

    const readiness = await sendRequest('/_readiness', agent);
    expect([readiness.status, readiness.headers['retry-after']]).toEqual([503, '1']);
    expect(JSON.parse(readiness.body)).toMatchObject({
      status: 'error',
      details: { database: { status: 'down' } },
    });
    const refused = await post({ config }, { query: '{ buildInfo { version } }' }, {}, agent);
    const { errors } = JSON.parse(refused.body) as { errors: { extensions: { code: string } }[] };
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect(errors.map(({ extensions }) => extensions.code)).toEqual(['SERVICE_UNAVAILABLE']);
    const photo = await sendRequest('/photo/v1/anna?expires=1&signature=0');
    expect([photo.status, photo.headers['content-type']]).toEqual([503, 'application/problem+json']);
    expect(photo.headers['retry-after']).toBe('1');
    await process.untilPrinted(
      /The database «\w+» at 127\.0\.0\.1:\d+ cannot be used: [^\n]+ The service waits for it/,
    );
    expect(await readDatabaseUp()).toBe(0);

    proxy.restore();
    while (!(await seesDatabase(agent))) await sleep(20);
    // The database fails again during the first synchronization.
    proxy.refuse();
    expect((await post({ config }, { query: '{ buildInfo { version } }' }, {}, agent)).status).toBe(200);
    expect(process.stdout).not.toContain('Ready at');
    while (await seesDatabase(agent)) await sleep(20);
    proxy.restore();
    while ((await sendRequest('/_readiness', agent)).status !== 200) await sleep(20);
    watched.abort();
    await watching;
    agent.destroy();
    expect(new Set(statuses)).toEqual(new Set([200]));
    await process.untilPrinted(/Ready at/);
    expect(await readDatabaseUp()).toBe(1);
    expect((await process.kill('SIGTERM')).code).toBe(0);
  });

  it('does not respond is healthy, and ends on SIGTERM', async () => {
    proxy.freeze();
    const process = start();
    await untilHealthy();
    expect((await sendRequest('/_readiness')).status).toBe(503);
    expect((await process.kill('SIGTERM')).code).toBe(0);
    expect(process.stdout).not.toContain('Ready at');
    expect(process.stdout.match(/cannot be used: [^\n]+ timeout\. The service waits for it\n/g)).toHaveLength(
      1,
    );
  });

  it.each<[wrong: string, change: (url: URL) => void, reason: RegExp]>([
    ['does not exist', (url) => (url.pathname = '/nothing'), /database "nothing" does not exist/],
    ['rejects the user', (url) => (url.username = 'stranger'), /role "stranger" does not exist/],
  ])('%s ends with one line of the reason', async (_, change, reason) => {
    const { code, stderr } = await start(change).end();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: The database «\w+» at [^\n]+ cannot be used: [^\n]+\n$/);
    expect(stderr).toMatch(reason);
  });
});
