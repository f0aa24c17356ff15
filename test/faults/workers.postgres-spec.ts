import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { buildLdif } from '../support/builders/directory.js';
import { runCommand, TestProcess } from '../support/clients/command.js';
import { EventStream } from '../support/clients/event-stream.js';
import { ContinuousClients } from '../support/clients/continuous-clients.js';
import { post, send } from '../support/clients/http.js';
import { readSamples } from '../support/clients/metrics.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

const WORKERS = 2;
/** So many that processes get a part of them in advance. */
const FAILED_LOGINS = 300;
const ATTACKER = '127.0.3.2';
const WRONG = `Basic ${Buffer.from('guessed:guess').toString('base64')}`;
const QUERY = '{ user(user: {id: "anna"}) { id name } }';
const REPLACED = /All processes were replaced/;

/** Whether a process exists and has not ended: its parent may collect it later. */
function isRunning(id: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${id}/status`, 'utf8'));
  } catch {
    return false;
  }
}

const issuer = forSuite(() => ExternalIssuerProcess.start());
let database: TestDatabase;
let environment: Record<string, string>;
let config: { host: string; port: number };
let service: TestProcess;
let authorization: string;

beforeAll(async () => {
  database = await createDatabase();
  const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'workers-'));
  writeFileSync(join(directory, 'directory.ldif'), buildLdif([{ id: 'anna' }]));
  config = { host: '127.0.0.1', port: await findFreePort() };
  environment = {
    ...issuer.environment,
    WORKERS: String(WORKERS),
    PORT: String(config.port),
    DATABASE_URL: database.url,
    DIRECTORY_URL: `file:${join(directory, 'directory.ldif')}`,
    LIMIT_REQUESTS_PER_MINUTE: '1000000',
    LIMIT_POINTS_PER_HOUR: '100000000',
    LIMIT_FAILED_LOGINS: String(FAILED_LOGINS),
  };
  authorization = await issuer.token('jwt-client');
});

afterAll(() => database.drop());

async function start(): Promise<TestProcess> {
  const started = TestProcess.start('main', [], environment);
  await started.untilPrinted(/Ready at/);
  return started;
}

const ask = () => post({ config }, { query: QUERY }, { authorization });

async function countRequests(): Promise<number> {
  const { body } = await send({ config }, { path: '/metrics' });
  return readSamples(body)
    .filter(({ name, labels }) => name === 'directory_requests_total' && labels['route'] === '/graphql/v1')
    .reduce((sum, { value }) => sum + value, 0);
}

/** The status of a login that fails. */
async function fail(localAddress: string): Promise<number> {
  const headers = { authorization: WRONG };
  return (await send({ config }, { path: '/graphql/v1?query={__typename}', headers, localAddress })).status;
}

describe('several processes that serve requests', () => {
  afterAll(async () => {
    if (!service.hasEnded) await service.kill('SIGKILL');
  });

  it('are ready when the directory has been read', async () => {
    const readiness = async () => (await send({ config }, { path: '/_readiness' }).catch(() => null))?.status;
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query('begin; lock table revisions in exclusive mode');
    service = TestProcess.start('main', [], environment);
    await eventually(readiness, 503);
    // The others start when the first one serves. This takes longer.
    await runCommand(['--version'], {});
    expect(service.children).toHaveLength(1);
    await client.end();
    await service.untilPrinted(/Ready at/);
    expect(await readiness()).toBe(200);
  });

  it('are two, of which one follows the directory', async () => {
    expect(service.children).toHaveLength(WORKERS);
    expect(service.stdout.match(/Ready at/g)).toHaveLength(1);
    expect((await ask()).status).toBe(200);
    expect((await send({ config }, { path: '/_readiness' })).status).toBe(200);
  });

  it('add up their metrics', async () => {
    const before = await countRequests();
    for (let time = 0; time < 10; time++) await ask();
    for (let time = 0; time < WORKERS; time++) expect(await countRequests()).toBe(before + 10);
    const { body } = await send({ config }, { path: '/metrics' });
    const samples = readSamples(body);
    const valueOf = (wanted: string) =>
      samples.filter(({ name }) => name === wanted).map(({ value }) => value);
    expect(valueOf('directory_leader')).toEqual([1]);
    expect(valueOf('directory_database_up')).toEqual([1]);
    expect(
      samples.find(
        ({ name, labels }) => name === 'directory_mirror_runs_total' && labels['outcome'] === 'applied',
      )?.value,
    ).toBe(1);
  });

  it('count together how many logins have failed', async () => {
    const logins = Array.from({ length: 2 * FAILED_LOGINS }, () => fail(ATTACKER));
    const statuses = await Promise.all(logins);
    const expected = [...Array<number>(FAILED_LOGINS).fill(401), ...Array<number>(FAILED_LOGINS).fill(429)];
    expect(statuses.sort()).toEqual(expected);
  });

  it('send changes to streams in each of them', async () => {
    const token = await issuer.token('jwt-client', { scope: 'directory' });
    const open = () => EventStream.open(`http://127.0.0.1:${config.port}`, '', { authorization: token });
    const streams = await Promise.all(Array.from({ length: 2 * WORKERS }, open));
    await Promise.all(streams.map((stream) => stream.begun()));
    writeFileSync(
      environment['DIRECTORY_URL']?.slice('file:'.length) ?? '',
      buildLdif([{ id: 'anna' }, { id: 'ben' }]),
    );
    for (const stream of streams)
      expect(await stream.receive(1)).toMatchObject([{ event: 'USER_CREATED', data: { userId: 'ben' } }]);
    for (const stream of streams) stream.close();
  });

  it('are replaced on SIGHUP without a failed request', async () => {
    const before = service.children;
    const headers = { 'content-type': 'application/json', authorization };
    const body = JSON.stringify({ query: QUERY });
    const clients = new ContinuousClients(
      { config },
      { count: 20, request: { method: 'POST', headers, body } },
    );
    await clients.untilAnswered(100);
    process.kill(service.id, 'SIGHUP');
    await service.untilPrinted(REPLACED);
    await clients.untilAnswered(clients.answered + 100);
    await clients.end();
    expect(clients.failures).toEqual([]);
    expect(service.children).toHaveLength(WORKERS);
    expect(service.children.filter((id) => before.includes(id))).toEqual([]);
    // They know what those before them have counted.
    expect(await fail(ATTACKER)).toBe(429);
  });

  it('end on SIGTERM after they have answered', async () => {
    const { children } = service;
    const headers = { 'content-type': 'application/json', authorization };
    const request = { method: 'POST', headers, body: JSON.stringify({ query: QUERY }) };
    const clients = new ContinuousClients({ config }, { count: 20, request, untilRefused: true });
    await clients.untilAnswered(100);
    expect((await service.kill('SIGTERM')).code).toBe(0);
    await clients.untilRefused();
    expect(clients.failures).toEqual([]);
    expect(children.filter(isRunning)).toEqual([]);
  });

  it('are not ready as soon as the service ends, also while clients send slowly', async () => {
    service = await start();
    const body = JSON.stringify({ query: QUERY });
    const head = [
      'POST /graphql/v1 HTTP/1.1',
      `Host: ${config.host}`,
      `Authorization: ${authorization}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ].join('\r\n');
    const slow = Array.from({ length: 3 * WORKERS }, () => connect(config.port, config.host));
    const answers = slow.map((socket) => text(socket));
    // One that never sends the rest does not delay the end.
    const silent = connect(config.port, config.host).on('error', () => undefined);
    for (const socket of [...slow, silent]) socket.write(`${head}\r\n\r\n${body.slice(0, 10)}`);
    // Connections are distributed in turn, so each process has read what came before this.
    for (let time = 0; time < 2 * WORKERS; time++) await ask();
    const ended = service.kill('SIGTERM');
    const readiness = () => send({ config }, { path: '/_readiness' }).then(({ status }) => status);
    await eventually(readiness, 503);
    // Connections are closed after their next response.
    const agent = new Agent({ keepAlive: true });
    const askKept = () => post({ config }, { query: QUERY }, { authorization }, agent);
    await eventually(async () => (await askKept()).headers['connection'], 'close');
    agent.destroy();
    expect(slow.filter(({ destroyed }) => destroyed)).toEqual([]);
    for (const socket of slow) socket.write(body.slice(10));
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect((await ended).code).toBe(0);
  });

  it('end when the process that supervises them is killed', async () => {
    service = await start();
    const { children } = service;
    process.kill(service.id, 'SIGKILL');
    await eventually(() => Promise.resolve(children.filter(isRunning).length), 0);
  });

  it('report once that the port is in use', async () => {
    const other = createServer().listen(config.port, config.host);
    await once(other, 'listening');
    const ended = await TestProcess.start('main', [], environment).end();
    other.close();
    expect([ended.code, ended.stderr]).toEqual([
      1,
      `error: The port ${config.port} is in use\n       → Stop what listens there, or set PORT\n`,
    ]);
  });
});

describe('several processes that serve requests, of which one hangs or ends', () => {
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

  it('count what a paused one has counted, and what two have counted that are killed at once', async () => {
    await ready();
    for (let time = 0; time < 20; time++) await fail('127.0.3.1');
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
    await service.untilPrinted(/A process has ended \(SIGKILL\): another one takes its place/);
    await eventually(() => Promise.resolve(workers().filter((id) => !killed.includes(id)).length), WORKERS);
    const countAgain = () => countRequests().catch(() => null);
    await eventually(async () => (await countAgain()) !== null, true);
    expect(await countRequests()).toBe(20);
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
