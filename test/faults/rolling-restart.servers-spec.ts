import { setTimeout as sleep } from 'node:timers/promises';
import { ContinuousClients } from '../support/clients/continuous-clients.js';
import { forSuite } from '../support/for-suite.js';
import { buildLdif } from '../support/builders/directory.js';
import type { Listening } from '../support/clients/http.js';
import { TestHaproxy, TestNginx } from '../support/servers/balancers.js';
import { repetitions } from '../support/repetitions.js';
import { ServiceProcesses } from '../support/servers/service-processes.js';

const ROUNDS = repetitions({ usually: 1, long: 3 });
/** Through each of the two balancers. */
const REQUESTS = repetitions({ usually: 300, long: 5000 });
const CLIENTS = 12;
/** Milliseconds between a response and the next request of a client. */
const PAUSE = 150;

const QUERY = JSON.stringify({
  query: '{ user(user: {id: "anna"}) { id name groups(first: 3) { totalCount } } }',
});

describe('two replicas behind balancers', () => {
  const replicas = forSuite(() =>
    ServiceProcesses.start(2, buildLdif([{ id: 'anna' }], [{ id: 'club', members: ['anna'] }])),
  );
  let nginx: TestNginx;
  let haproxy: TestHaproxy;

  beforeAll(async () => {
    const ports = replicas.each.map(({ port }) => port);
    nginx = await TestNginx.start(...ports);
    haproxy = await TestHaproxy.start(...ports);
  });

  afterAll(async () => {
    await nginx.stop();
    await haproxy.stop();
  });

  /** Clients of both balancers, which send requests continuously. */
  function startClients(): { ofNginx: ContinuousClients; ofHaproxy: ContinuousClients } {
    const authorization = replicas.each[0]?.authorization ?? '';
    const headers = { 'content-type': 'application/json', authorization };
    const request = { method: 'POST', headers, body: QUERY };
    const sendRequestTo = ({ port }: { port: number }) => {
      const to: Listening = { config: { host: '127.0.0.1', port } };
      return new ContinuousClients(to, { count: CLIENTS, pause: PAUSE, request });
    };
    return { ofNginx: sendRequestTo(nginx), ofHaproxy: sendRequestTo(haproxy) };
  }

  it(`lose no request when they restart one after the other: ${ROUNDS} times`, async () => {
    const { ofNginx, ofHaproxy } = startClients();
    const codes: (number | null)[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      for (const replica of replicas.each) {
        codes.push((await replica.restart()).code);
        await haproxy.untilAllUp();
      }
    }
    await Promise.all([ofNginx.untilAnswered(REQUESTS), ofHaproxy.untilAnswered(REQUESTS)]);
    await Promise.all([ofNginx.end(), ofHaproxy.end()]);
    expect(codes).toEqual(Array.from({ length: 2 * ROUNDS }, () => 0));
    expect([ofNginx.failures, ofHaproxy.failures]).toEqual([[], []]);
    for (const { answered } of [ofNginx, ofHaproxy]) expect(answered).toBeGreaterThanOrEqual(REQUESTS);
    for (const { port } of replicas.each) expect(nginx.countSentTo(port)).toBeGreaterThan(REQUESTS / 4);
  });

  it('lose only the current requests of a replica that is killed', async () => {
    const { ofNginx, ofHaproxy } = startClients();
    await Promise.all([ofNginx.untilAnswered(10 * CLIENTS), ofHaproxy.untilAnswered(10 * CLIENTS)]);
    const before = performance.now();
    await replicas.each[0]?.process.kill('SIGKILL');
    const after = performance.now();
    await Promise.all([ofNginx.untilAnswered(21 * CLIENTS), ofHaproxy.untilAnswered(21 * CLIENTS)]);
    // The proxies have probed again by then.
    await sleep(1500);
    await Promise.all([ofNginx.end(), ofHaproxy.end()]);
    for (const { failures, answered } of [ofNginx, ofHaproxy]) {
      // Started before the process was dead, and not answered before it was killed.
      expect(failures.filter(({ begun, ended }) => begun > after || ended < before)).toEqual([]);
      expect(failures.length).toBeLessThanOrEqual(CLIENTS);
      expect(answered).toBeGreaterThan(20 * CLIENTS);
    }
  });
});
