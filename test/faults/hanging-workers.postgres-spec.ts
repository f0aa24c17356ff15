import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildLdif } from '../support/builders/directory.js';
import { runCommand, TestProcess } from '../support/clients/command.js';
import { type HttpRequest, send } from '../support/clients/http.js';
import { readSamples } from '../support/clients/metrics.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

const WORKERS = 2;
const FAILED_LOGINS = 100;
const UNAUTHORIZED = `Basic ${Buffer.from('guessed:guess').toString('base64')}`;

describe('several processes that serve requests, of which one hangs or ends', () => {
  const issuer = forSuite(() => ExternalIssuerProcess.start());
  let database: TestDatabase;
  let environment: Record<string, string>;
  let config: { host: string; port: number };
  let service: TestProcess;
  let addresses = 1;

  beforeAll(async () => {
    database = await createDatabase();
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'hanging-'));
    writeFileSync(join(directory, 'directory.ldif'), buildLdif([{ id: 'anna' }]));
    config = { host: '127.0.0.1', port: await findFreePort() };
    environment = {
      ...issuer.environment,
      WORKERS: String(WORKERS),
      PORT: String(config.port),
      DATABASE_URL: database.url,
      DIRECTORY_URL: `file:${join(directory, 'directory.ldif')}`,
      LIMIT_FAILED_LOGINS: String(FAILED_LOGINS),
    };
  });

  afterAll(() => database.drop());

  beforeEach(async () => {
    service = TestProcess.start('main', [], environment);
    await service.untilPrinted(/Version /);
  });

  afterEach(async () => {
    if (service.hasEnded) return;
    // A paused one would stay after the end of its supervisor, with the output.
    service.resume();
    await service.kill('SIGKILL');
  });

  const ready = () => service.untilPrinted(/Ready at/);
  const workers = () => service.children;

  /**
   * A paused worker gets one more connection, and none after it.
   * @returns its id
   */
  async function pauseOne(): Promise<number> {
    const [paused = 0] = workers();
    process.kill(paused, 'SIGSTOP');
    await Promise.any([countRequests(), countRequests()]);
    return paused;
  }

  async function countRequests(): Promise<number> {
    const { body } = await send({ config }, { path: '/metrics' });
    return readSamples(body)
      .filter(({ name, labels }) => name === 'directory_requests_total' && labels['route'] === '/graphql/v1')
      .reduce((sum, { value }) => sum + value, 0);
  }

  /** Statuses of failed logins, one after another, of one address. */
  async function fail(count: number, localAddress = `127.0.3.${addresses++}`): Promise<number[]> {
    const request: HttpRequest = {
      path: '/graphql/v1?query={__typename}',
      headers: { authorization: UNAUTHORIZED },
      localAddress,
    };
    const statuses: number[] = [];
    for (let time = 0; time < count; time++) statuses.push((await send({ config }, request)).status);
    return statuses;
  }

  it('count what a paused one has counted, and what two have counted that are killed at once', async () => {
    await ready();
    await fail(20);
    // Each has asked the other one.
    for (let time = 0; time < WORKERS; time++) expect(await countRequests()).toBe(20);
    const paused = await pauseOne();
    expect(await countRequests()).toBe(20);
    process.kill(paused, 'SIGCONT');
    // Never less while they are replaced.
    const counts = new Set<number>();
    process.kill(service.id, 'SIGHUP');
    while (!service.stdout.includes('All processes were replaced')) counts.add(await countRequests());
    counts.add(await countRequests());
    expect([...counts]).toEqual([20]);
    const killed = workers();
    for (const id of killed) process.kill(id, 'SIGKILL');
    await eventually(() => Promise.resolve(workers().filter((id) => !killed.includes(id)).length), WORKERS);
    const countAgain = () => countRequests().catch(() => null);
    await eventually(async () => (await countAgain()) !== null, true);
    expect(await countRequests()).toBe(20);
  });

  it('limit a client to the rest while one hangs', async () => {
    await ready();
    const address = `127.0.3.${addresses++}`;
    await fail(FAILED_LOGINS / 2, address);
    await pauseOne();
    const statuses = await fail(FAILED_LOGINS, address);
    expect(statuses.at(-1)).toBe(429);
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(FAILED_LOGINS / 2);
  });

  it('are replaced after the start if SIGHUP arrives during it', async () => {
    await eventually(() => Promise.resolve(workers().length), 1);
    const [first = 0] = workers();
    process.kill(first, 'SIGSTOP');
    process.kill(service.id, 'SIGHUP');
    // It takes longer than the start of another worker would.
    await runCommand(['--version'], {});
    expect(workers()).toEqual([first]);
    process.kill(first, 'SIGCONT');
    await service.untilPrinted(/Ready at[^]*All processes were replaced/);
    expect(workers()).toHaveLength(WORKERS);
  });

  it('end together with one that is about to replace another', async () => {
    await ready();
    const before = workers();
    process.kill(service.id, 'SIGHUP');
    const added = () => workers().filter((id) => !before.includes(id));
    await eventually(() => Promise.resolve(added().length), 1);
    // The shutdown waits for it.
    const [paused = 0] = before;
    process.kill(paused, 'SIGSTOP');
    process.kill(service.id, 'SIGTERM');
    await eventually(() => Promise.resolve(added()), []);
    expect(service.hasEnded).toBe(false);
    // On a busy machine it has been killed by now.
    if (workers().includes(paused)) process.kill(paused, 'SIGCONT');
    expect((await service.end()).code).toBe(0);
    expect(service.stdout).not.toMatch(/does not start|were replaced/);
  });
});
