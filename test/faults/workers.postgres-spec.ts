import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { buildLdif } from '../support/builders/directory.js';
import { TestProcess } from '../support/clients/command.js';
import { ContinuousClients } from '../support/clients/continuous-clients.js';
import { post, send } from '../support/clients/http.js';
import { readSamples } from '../support/clients/metrics.js';
import { eventually } from '../support/eventually.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

const WORKERS = 2;
const FAILED_LOGINS = 10;
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

describe('several processes that serve requests', () => {
  let issuer: ExternalIssuerProcess;
  let database: TestDatabase;
  let environment: Record<string, string>;
  let config: { host: string; port: number };
  let service: TestProcess;
  let authorization: string;

  beforeAll(async () => {
    issuer = await ExternalIssuerProcess.start();
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
    service = await start();
  });

  afterAll(async () => {
    if (!service.hasEnded) await service.kill('SIGKILL');
    await issuer.stop();
    await database.drop();
  });

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

  it('are two, of which one follows the directory', async () => {
    expect(service.children).toHaveLength(WORKERS);
    expect(service.stdout.match(/Ready at/g)).toHaveLength(1);
    expect((await ask()).status).toBe(200);
    expect((await send({ config }, { path: '/_readiness' })).status).toBe(200);
  });

  it('replace a killed one, and keep its counts', async () => {
    const before = await countRequests();
    const [killed = 0] = service.children;
    process.kill(killed, 'SIGKILL');
    await service.untilPrinted(/A process has ended \(SIGKILL\): another one takes its place/);
    await eventually(() => Promise.resolve(service.children.length), WORKERS);
    for (let time = 0; time < 10; time++) expect((await ask()).status).toBe(200);
    await eventually(async () => (await countRequests()) >= before + 10, true);
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
    for (const socket of slow) socket.write(`${head}\r\n\r\n${body.slice(0, 10)}`);
    // Connections are distributed in turn, so each process has read what came before this.
    for (let time = 0; time < 2 * WORKERS; time++) await ask();
    const ended = service.kill('SIGTERM');
    const readiness = () => send({ config }, { path: '/_readiness' }).then(({ status }) => status);
    await eventually(readiness, 503);
    expect(slow.filter(({ destroyed }) => destroyed)).toEqual([]);
    for (const socket of slow) socket.write(body.slice(10));
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect((await ended).code).toBe(0);
  });
});
