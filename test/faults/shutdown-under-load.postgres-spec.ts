import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ContinuousClients } from '../support/clients/continuous-clients.js';
import { buildLdif } from '../support/builders/directory.js';
import { send } from '../support/clients/http.js';
import { type ServiceProcess, ServiceProcesses } from '../support/servers/service-processes.js';
import { forSuite } from '../support/for-suite.js';

const CLIENTS = 50;
/**
 * Number of requests that a process may still answer without noticing a signal: libuv handles signals after the connections of
 * the same turn of the event loop.
 */
const MAX_UNAWARE_RESPONSES = 3;
/** Milliseconds after which Kubernetes kills a process; the service ends after half of that. */
const GRACE_PERIOD = 30_000;

const QUERY = JSON.stringify({
  query: '{ user(user: {id: "anna"}) { id name groups(first: 3) { totalCount } } }',
});

describe('a process that receives SIGTERM while 50 clients send requests', () => {
  const replicas = forSuite(() =>
    ServiceProcesses.start(1, buildLdif([{ id: 'anna' }], [{ id: 'club', members: ['anna'] }])),
  );
  let replica: ServiceProcess;
  /** Time of the signal; times are those of performance.now(). */
  let signaledAt = 0;
  /** Time of the first response that reports the shutdown. */
  let noticedAt = Infinity;
  let ended = 0;
  let clients: ContinuousClients;
  /** The header Connection of later responses. */
  const connections: (string | undefined)[] = [];
  const readiness: number[] = [];
  let slow: Promise<string>;

  beforeAll(async () => {
    const [first] = replicas.each;
    if (first === undefined) throw new Error('There is no replica');
    replica = first;
    const headers = { 'content-type': 'application/json', authorization: replica.authorization };
    clients = new ContinuousClients(replica, {
      count: CLIENTS,
      request: { method: 'POST', headers, body: QUERY },
      untilRefused: true,
      onAnswer: ({ headers: { connection } }, begun) => {
        if (begun > noticedAt) connections.push(connection);
      },
    });
    await clients.untilAnswered(10 * CLIENTS);
    const [finished, unfinished] = [await begin(headers), await begin(headers)];
    slow = text(finished);
    unfinished.on('error', () => undefined);

    signaledAt = performance.now();
    const over = replica.process.kill('SIGTERM');
    const watching = watchReadiness();
    await clients.untilRefused();
    // The service accepts no connections any more, and waits for pending requests.
    finished.write(QUERY.slice(10));
    await over;
    ended = performance.now();
    await watching;
  });

  /** A request of which the first bytes have been read. */
  async function begin(headers: Record<string, string>): Promise<Socket> {
    const socket = connect(replica.port, '127.0.0.1');
    await once(socket, 'connect');
    const fields = { host: '127.0.0.1', ...headers, 'content-length': String(QUERY.length) };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /graphql/v1 HTTP/1.1\r\n${lines.join('')}\r\n${QUERY.slice(0, 10)}`);
    return socket;
  }

  /** Probes like a balancer, until no connection is accepted. */
  async function watchReadiness(): Promise<void> {
    for (;;) {
      const status = await send(replica, { path: '/_readiness' }).then(
        (answer) => answer.status,
        () => null,
      );
      if (status === null) return;
      if (status === 503) noticedAt = Math.min(noticedAt, performance.now());
      readiness.push(status);
      await sleep(20);
    }
  }

  it('reports immediately that it is not ready, for long enough that balancers notice', () => {
    const before = readiness.findIndex((status) => status === 503);
    expect(before).toBeGreaterThanOrEqual(0);
    expect(before).toBeLessThanOrEqual(MAX_UNAWARE_RESPONSES);
    expect(new Set(readiness.slice(before))).toEqual(new Set([503]));
  });

  it('closes all connections after their next response', () => {
    expect(connections.length).toBeGreaterThan(0);
    expect(connections.filter((value) => value !== 'close')).toEqual([]);
  });

  it('loses no accepted request', async () => {
    expect(clients.failures).toEqual([]);
    expect(clients.answered).toBeGreaterThan(11 * CLIENTS);
    expect(await slow).toMatch(/^HTTP\/1\.1 200 .*"name":"anna"/s);
  });

  it('ends with 0 in time, although one client never completes its request', () => {
    expect(replica.process.code).toBe(0);
    expect(ended - signaledAt).toBeLessThan(GRACE_PERIOD);
  });
});
