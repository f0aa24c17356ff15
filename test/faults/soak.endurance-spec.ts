import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import sharp from 'sharp';
import { runCommand } from '../support/clients/command.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { dataOf, post, send } from '../support/clients/http.js';
import { type Callers, MixedTraffic } from '../support/clients/mixed-traffic.js';
import { temporaryFaults } from '../support/builders/temporary-faults.js';
import { TestProxy } from '../support/servers/proxy.js';
import { TestRedis } from '../support/servers/redis.js';
import { WatchedService } from '../support/watched-service.js';

/** `npm run soak` sets duration and interval; by default, the shortest run with every fault once. */
const SECONDS = Number(process.env['SOAK_MINUTES'] ?? 2) * 60;
const FAULT_SECONDS = Number(process.env['SOAK_FAULT_SECONDS'] ?? 15);
/** Share of a fault in the interval between two faults. */
const FAULT_SHARE = 0.4;
/** Seconds of one cycle of all periodic work. */
const WARM_SECONDS = 10;
/** Maximal growth in megabytes. */
const GROWTH = 30;
/** Milliseconds after a fault until everything works as before. */
const BACK = 5000;
/** Maximal response time in milliseconds, during any fault. */
const ANSWERED = 15_000;
const PEOPLE = 100;

interface ResourceUse {
  /** Memory of the heap, and of the process. */
  readonly held: number;
  readonly megabytes: number;
  readonly descriptors: number;
  readonly connections: number;
}

describe('a service under load for a long time, with occasional faults', () => {
  let photo: Buffer;
  let issuer: ExternalIssuerProcess;
  let redis: TestRedis;
  let proxy: TestProxy;
  let service: WatchedService;
  let administration: pg.Client;
  let callers: Callers;
  let traffic: MixedTraffic;
  let version = 0;
  let before: ResourceUse;
  let after: ResourceUse;

  /** In each version, all users have other names, and all have the same picture. */
  const directory = () =>
    buildLdif(
      Array.from({ length: PEOPLE }, (_, at) => ({
        id: `p${at}`,
        name: `Person ${at} of ${version}`,
        photo,
      })),
      Array.from({ length: 5 }, (_, at) => ({
        id: `g${at}`,
        members: Array.from({ length: PEOPLE }, (__, person) => `p${person}`),
        owners: ['p0'],
      })),
    );

  beforeAll(
    async () => {
      photo = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'teal' } })
        .jpeg()
        .toBuffer();
      [issuer, redis] = await Promise.all([ExternalIssuerProcess.start(), TestRedis.prepare()]);
      await redis.start();
      let url = '';
      const { host, port } = databaseAddress();
      proxy = await TestProxy.start({ host, port });
      service = await WatchedService.start({
        ldif: directory(),
        environment: { ...issuer.environment, REDIS_URL: redis.url },
        reachDatabase: (direct) => {
          url = direct;
          return direct.replace(`:${port}/`, `:${proxy.port}/`);
        },
      });
      administration = new pg.Client(url);
      await administration.connect();
      callers = await createCallers(url);
      traffic = await keepBusy();
    },
    SECONDS * 1000 + 900_000,
  );

  afterAll(async () => {
    await Promise.all([issuer.stop(), redis.kill(), administration.end()]);
    proxy.restore();
    await service.stop();
    await proxy.stop();
  });

  function databaseAddress() {
    const { hostname, port } = new URL(process.env['TEST_POSTGRES_URL'] ?? '');
    return { host: hostname, port: Number(port) };
  }

  async function createCallers(url: string): Promise<Callers> {
    const scope = 'profile read directory write';
    const exp = Math.floor(Date.now() / 1000) + 2 * SECONDS + 3600;
    const words = ['create', '--id', 'soak', '--name', 'Soak', '--scopes', 'read,directory', '--json'];
    const { stdout } = await runCommand(['service-account', ...words], { DATABASE_URL: url });
    return {
      person: await issuer.sign({ payload: { sub: 'p0', scope, exp } }),
      opaque: await issuer.opaque({ active: true, sub: 'p1', scope, exp }),
      account: `Basic ${(JSON.parse(stdout) as { token: string }).token}`,
    };
  }

  /** All data, and resources of the process before and after. */
  async function keepBusy(): Promise<MixedTraffic> {
    const warming = new MixedTraffic(service, callers, 4, 10);
    await sleep(WARM_SECONDS * 1000);
    await warming.end();
    before = await measure();

    const busy = new MixedTraffic(service, callers, 4, 80);
    const end = performance.now() + SECONDS * 1000;
    const faults = temporaryFaults({
      service,
      authorization: callers.account,
      proxy,
      redis,
      issuer,
      directory,
    });
    for (let turn = 0; performance.now() < end; turn++) {
      const next = performance.now() + FAULT_SECONDS * 1000;
      const fault = faults[turn % faults.length];
      version++;
      service.replaceDirectory(directory());
      busy.hasFault = true;
      await fault?.strike();
      await sleep(FAULT_SHARE * FAULT_SECONDS * 1000);
      await fault?.restore();
      await untilWell();
      busy.hasFault = false;
      await sleep(Math.max(0, next - performance.now()));
    }
    await busy.end();
    // Idle connections are closed after a while.
    await eventually(async () => (await countConnections()) <= before.connections, true);
    after = await measure();
    const { answered, longest } = busy;
    console.log({ answered, longest, statuses: Object.fromEntries(busy.statuses), before, after });
    return busy;
  }

  /** All requests get the current content of the directory. */
  async function isWell(): Promise<boolean> {
    const { person: authorization } = callers;
    const query = `{ user(user: {id: "p1"}) { name } directoryStatus { state } }`;
    const { status, body } = await post(service, { query }, { authorization });
    const readiness = await send(service, { path: '/_readiness' });
    const isUpToDate = body.includes(`Person 1 of ${version}"`) && body.includes('"IDLE"');
    return (
      status === 200 && isUpToDate && readiness.status === 200 && readiness.body.includes('"shared":true')
    );
  }

  async function untilWell(): Promise<void> {
    const latest = performance.now() + BACK;
    while (!(await isWell())) {
      if (performance.now() > latest) throw new Error(`It is not well ${BACK} ms after a fault`);
      await sleep(20);
    }
  }

  async function countConnections(): Promise<number> {
    const { rows } = await administration.query<{ count: number }>(
      `select count(*)::integer from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
    return rows[0]?.count ?? NaN;
  }

  async function measure(): Promise<ResourceUse> {
    // The process returns free memory gradually.
    let held = await service.collect();
    for (let last = Infinity; service.megabytes < last - 1;) {
      last = service.megabytes;
      await sleep(2000);
      held = await service.collect();
    }
    const { megabytes, descriptors } = service;
    return { held, megabytes, descriptors, connections: await countConnections() };
  }

  it('returns correct responses, and rejects requests only during a fault', () => {
    expect(traffic.problems).toEqual([]);
    expect(traffic.answered).toBeGreaterThan(SECONDS * 10);
    expect(traffic.statuses.get(503)).toBeGreaterThan(0);
    expect(traffic.longest).toBeLessThan(ANSWERED);
  });

  it(`grows by less than ${GROWTH} MB`, () => {
    expect(after.megabytes - before.megabytes).toBeLessThan(GROWTH);
    expect(after.held - before.held).toBeLessThan(GROWTH);
  });

  it('releases its files and connections', () => {
    expect(after.connections).toBeLessThanOrEqual(before.connections);
    expect(after.descriptors).toBeLessThanOrEqual(before.descriptors);
  });

  it('is alive, has no unhandled rejection, and is up to date', async () => {
    expect(service.hasEnded).toBe(false);
    expect(service.output).not.toMatch(/unhandled|TypeError|RangeError/i);
    const { person: authorization } = callers;
    const answer = await post(service, { query: '{ user(user: {id: "p7"}) { name } }' }, { authorization });
    expect(dataOf(answer)).toEqual({ user: { name: `Person 7 of ${version}` } });
  });
});
