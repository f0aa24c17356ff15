import pg from 'pg';
import { PoolerMonitor } from '../../src/database/connections/pooler-monitor.js';
import { sharesSessions } from '../../src/database/connections/pooler-check.js';
import { runCommand, TestProcess } from '../support/clients/command.js';
import { buildLdif } from '../support/builders/directory.js';
import { post, send } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { TestPgBouncer } from '../support/servers/pgbouncer.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { TestService } from '../support/servers/service.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';
import { TcpBalancer } from '../support/servers/tcp-balancer.js';

const LDIF = buildLdif([{ id: 'anna' }]);
const REASON = /a pooler in between gives connections another session for each transaction/;

describe('behind a PgBouncer', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });

  afterAll(() => database.drop());

  it.each([
    ['transactions', 'transaction', ''],
    ['transactions, in turns', 'transaction', 'server_round_robin = 1'],
    ['transactions, on one connection', 'transaction', 'default_pool_size = 1'],
    ['statements', 'statement', ''],
  ] as const)('with %s pooling the service does not start, and gives the reason', async (_, mode, more) => {
    const bouncer = await TestPgBouncer.start(mode, more);
    try {
      const environment = { DATABASE_URL: bouncer.through(database.url) };
      const service = TestProcess.start('main', [], { ...environment, PORT: String(await findFreePort()) });
      await service.end();
      expect([service.code, service.stderr]).toEqual([1, expect.stringMatching(REASON)]);
      const command = await runCommand(['sync', '--dry-run'], environment);
      expect([command.code, command.stderr]).toEqual([1, expect.stringMatching(REASON)]);
    } finally {
      await bouncer.stop();
    }
  });

  it('with transaction pooling, every check detects it under load', async () => {
    const bouncer = await TestPgBouncer.start('transaction', 'server_round_robin = 1');
    const url = bouncer.through(database.url);
    const others = Array.from({ length: 6 }, () => new pg.Client(url));
    const stopping = new AbortController();
    try {
      const traffic = others.map(async (client) => {
        await client.connect();
        while (!stopping.signal.aborted) await client.query('begin; select pg_sleep(0.002); commit');
      });
      const found: boolean[] = [];
      while (found.length < 20) found.push(await sharesSessions(url));
      stopping.abort();
      await Promise.all(traffic);
      expect(found).toEqual(found.map(() => true));
    } finally {
      stopping.abort();
      await Promise.all(others.map((client) => client.end()));
      await bouncer.stop();
    }
  });

  it('with session pooling the service works, and stops when that changes to transaction pooling', async () => {
    const bouncer = await TestPgBouncer.start('session');
    const service = await TestService.start({
      ldif: LDIF,
      environment: { DATABASE_URL: bouncer.through(database.url) },
      compared: false,
    });
    try {
      const authorization = await service.serviceAccount('read');
      const sendRequest = () =>
        post(service, { query: '{ user(user: {id: "anna"}) { id } }' }, { authorization });
      const metric = async () => {
        const { body } = await send(service, { path: '/metrics' });
        return /directory_database_sessions_kept\{server="primary"[^}]*\} (\d)/.exec(body)?.[1];
      };
      expect([(await sendRequest()).status, await metric()]).toEqual([200, '1']);
      await bouncer.change('transaction');
      await service.app.get(PoolerMonitor).check();
      expect([(await sendRequest()).status, await metric()]).toEqual([503, '0']);
      await service.until(async () => (await send(service, { path: '/_readiness' })).status === 503);
      await bouncer.change('session');
      await service.app.get(PoolerMonitor).check();
      expect([(await sendRequest()).status, await metric()]).toEqual([200, '1']);
    } finally {
      await service.stop();
      await bouncer.stop();
    }
  });

  it('a pooler at the address of the database is detected at the next connection', async () => {
    const bouncer = await TestPgBouncer.start('transaction');
    const server = new URL(database.url);
    const balancer = await TcpBalancer.start(Number(server.port));
    server.hostname = '127.0.0.1';
    server.port = new URL(balancer.url).port;
    const service = await TestService.start({
      ldif: LDIF,
      environment: { DATABASE_URL: server.href },
      compared: false,
    });
    try {
      const authorization = await service.serviceAccount('read');
      const readStatuses = async () => [
        (await post(service, { query: '{ user(user: {id: "anna"}) { id } }' }, { authorization })).status,
        (await send(service, { path: '/_readiness' })).status,
      ];
      const isKept = () => service.app.get(PoolerMonitor).state.map(({ isShared }) => isShared === false);
      await eventually(readStatuses, [200, 200]);
      balancer.use(Number(new URL(bouncer.through(database.url)).port));
      balancer.breakConnections();
      await eventually(() => Promise.resolve(isKept()), [false]);
      await eventually(readStatuses, [503, 503]);
      balancer.use(Number(new URL(database.url).port));
      balancer.breakConnections();
      await eventually(() => Promise.resolve(isKept()), [true]);
      await eventually(readStatuses, [200, 200]);
    } finally {
      await service.stop();
      await balancer.stop();
      await bouncer.stop();
    }
  });

  it('a read replica needs session pooling, too', async () => {
    const bouncer = await TestPgBouncer.start('transaction');
    try {
      const service = TestProcess.start('main', [], {
        DATABASE_URL: database.url,
        DATABASE_REPLICA_URLS: bouncer.through(database.url),
        PORT: String(await findFreePort()),
      });
      await service.end();
      expect([service.code, service.stderr]).toEqual([1, expect.stringMatching(REASON)]);
    } finally {
      await bouncer.stop();
    }
  });

  it('a server without a pooler is never rejected', async () => {
    for (let time = 0; time < 20; time++) expect(await sharesSessions(database.url)).toBe(false);
  });
});
