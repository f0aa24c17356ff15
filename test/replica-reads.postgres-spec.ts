import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { DataSource } from 'typeorm';
import type { DirectoryDataSource } from '../src/database/data-source.js';
import { examineReplica } from '../src/database/examine-replica.js';
import { Replica } from '../src/database/replica.js';
import { Asking, directoryOf } from './support/asking.js';
import { dataOf, post, send } from './support/http.js';
import { stopFollowing } from './support/mirror.js';
import { startPostgres, startPostgresReplica, type TestPostgres } from './support/postgres.mjs';
import { TestProxy } from './support/proxy.js';
import { TestService } from './support/service.js';
import { variable } from './support/store.js';
import { TwinService } from './support/twin.js';

const SETTINGS = {
  shared_buffers: '16MB',
  max_connections: 60,
  synchronous_commit: 'on',
  // What is being copied, or lags, may ask for what was written a while ago.
  wal_keep_size: '1GB',
};
/** Milliseconds after which a replica that is well again is asked. */
const BACK = 5000;

let primary: TestPostgres;
/** Two streaming replicas, each behind a proxy. */
let replicas: [TestPostgres, TestPostgres];
let targets: { host: string; port: number }[];
let proxies: TestProxy[];
/** Applies revisions. */
let service: TestService;
/** Another process on the same servers. */
let twin: TwinService;
let authorization: string;
let revision = 1;
/** All that have been started. */
const servers: TestPostgres[] = [];
const asked = jest.spyOn(Replica.prototype, 'read');
const logged = jest.spyOn(Logger.prototype, 'warn');

const directory = () => mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'replicated-'));
/** As somebody who may do nothing but read. */
const urlOf = ({ port }: { port: number }) => `postgres://reader@127.0.0.1:${port}/directory`;

beforeAll(async () => {
  primary = await startPostgres(directory(), SETTINGS);
  servers.push(primary);
  await administrate(primary, 'postgres', 'create database directory');
  await administrate(primary, 'postgres', 'create role reader login in role pg_read_all_data');
  replicas = await Promise.all([0, 1].map(startReplica) as [Promise<TestPostgres>, Promise<TestPostgres>]);
  targets = replicas.map(({ port }) => ({ host: '127.0.0.1', port }));
  proxies = await Promise.all(targets.map((target) => TestProxy.start(target)));
  const environment = {
    DATABASE_URL: primary.url('directory'),
    DATABASE_REPLICA_URLS: proxies.map(urlOf).join(','),
    // Everything is read.
    ANSWER_CACHE_MEGABYTES: '0',
  };
  service = await TestService.start({ ldif: directoryOf(revision), environment, compared: false });
  await stopFollowing(service);
  twin = await TwinService.start(service, environment);
  authorization = await service.serviceAccount('read', 'directory');
});

afterAll(async () => {
  try {
    await twin.stop();
    await service.stop();
    for (const proxy of proxies) await proxy.stop();
  } finally {
    for (const server of servers) {
      server.goOn();
      await server.stop();
    }
  }
});

beforeEach(() => untilAsked(2));

async function startReplica(): Promise<TestPostgres> {
  const server = await startPostgresReplica(directory(), primary, SETTINGS);
  servers.push(server);
  return server;
}

async function administrate(server: TestPostgres, database: string, statement: string): Promise<void> {
  const client = new pg.Client(server.url(database));
  await client.connect();
  await client.query(statement);
  await client.end();
}

const endConnections = (server: TestPostgres, which: string) =>
  administrate(
    server,
    'postgres',
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = 'directory' and ${which}`,
  );
const pause = (server: TestPostgres) => administrate(server, 'postgres', 'select pg_wal_replay_pause()');
const goOn = (server: TestPostgres) => administrate(server, 'postgres', 'select pg_wal_replay_resume()');

/** How many replicas are asked by a process, as it reports itself. */
async function countAsked(of: TestService | TwinService): Promise<number> {
  const { status, body } = await send(of, { path: '/_readiness' });
  const { details } = JSON.parse(body) as {
    details: { database: { status: string; replicas: { all: number; current: number } } };
  };
  expect([status, details.database.status, details.database.replicas.all]).toEqual([200, 'up', 2]);
  return details.database.replicas.current;
}

async function untilAsked(count: number): Promise<void> {
  for (const each of [service, twin]) {
    await service.until(async () => (await countAsked(each)) === count, BACK);
  }
}

/** The number of the directory that is served, and how many of the answers for it were given by a replica. */
async function read(from: TestService | TwinService): Promise<{ number: number; byReplica: number }> {
  asked.mockClear();
  const query = '{ user(user: {id: "p1"}) { name groups(first: 1) { nodes { group { name } } } } }';
  const { body } = await post(from, { query }, { authorization });
  const numbers = new Set([...body.matchAll(/ of (\d+)"/g)].map(([, number]) => Number(number)));
  expect(numbers.size).toBe(1);
  const answers = await Promise.all(asked.mock.results.map(({ value }) => value as Promise<unknown>));
  return { number: [...numbers][0] ?? NaN, byReplica: answers.filter((each) => each !== null).length };
}

/** Which replicas were asked, one after another. */
async function askTimes(of: TestService | TwinService, count: number): Promise<unknown[]> {
  asked.mockClear();
  for (let time = 0; time < count; time++) {
    await post(of, { query: '{ user(user: {id: "p1"}) { name } }' }, { authorization });
  }
  return [...(asked.mock.contexts as unknown[])];
}

async function apply(): Promise<void> {
  service.replaceDirectory(directoryOf(++revision));
  expect((await service.synchronise()).kind).toBe('applied');
}

describe('read replicas', () => {
  it('answer what tells its revision, in both processes; everything else is asked of the primary', async () => {
    for (const each of [service, twin]) {
      expect(await read(each)).toEqual({ number: revision, byReplica: 1 });
      expect(new Set(await askTimes(each, 4)).size).toBe(2);
    }
    asked.mockClear();
    const status = await post(service, { query: '{ directoryStatus { state } }' }, { authorization });
    expect(dataOf(status)).toEqual({ directoryStatus: { state: 'IDLE' } });
    // That there is nobody is not believed of a replica, which is asked all the same.
    const nobody = await post(
      service,
      { query: '{ user(user: {id: "nobody"}) { name } }' },
      { authorization },
    );
    expect(nobody.body).toContain('NOT_FOUND');
    expect(asked.mock.calls).toHaveLength(1);
  });

  it('are not asked for what they do not have yet, and are when they have', async () => {
    await Promise.all(replicas.map(pause));
    await apply();
    // The process that applied it, at once; the other one within a second, at worst.
    expect(await read(service)).toEqual({ number: revision, byReplica: 0 });
    await service.until(async () => (await read(twin)).number === revision);
    expect(await read(twin)).toEqual({ number: revision, byReplica: 0 });
    await untilAsked(0);
    await goOn(replicas[0]);
    await untilAsked(1);
    expect(await read(service)).toEqual({ number: revision, byReplica: 1 });
    await goOn(replicas[1]);
  });

  it('that lag now and then never make an answer of two revisions, or one that goes back', async () => {
    const [here, there] = [new Asking(service, authorization), new Asking(twin, authorization)];
    try {
      for (let count = 0; count < 8; count++) {
        const lagging = replicas[count % 2];
        if (lagging !== undefined) await pause(lagging);
        await apply();
        here.expect(revision);
        await service.until(() => Promise.resolve(there.newest === revision));
        if (lagging !== undefined) await goOn(lagging);
      }
    } finally {
      await Promise.all([here.end(), there.end()]);
    }
    for (const { problems, asked: count } of [here, there]) {
      expect(problems.slice(0, 3)).toEqual([]);
      expect(count).toBeGreaterThan(8);
    }
  });

  it('whose answer is older than what was shown are not believed', async () => {
    const [laggard, other] = replicas;
    await pause(laggard);
    await apply();
    await service.until(async () => (await countAsked(service)) === 1, BACK);
    // Behind the address of the good one there is the other one too, as behind a balancer.
    const [, target] = targets;
    if (target === undefined) throw new Error('There are two');
    target.port = laggard.port;
    await endConnections(other, `query not like '%pg_is_in_recovery%'`);
    await service.until(async () => {
      const { number, byReplica } = await read(service);
      expect(number).toBe(revision);
      return byReplica === 1;
    });
    target.port = other.port;
    await endConnections(laggard, 'true');
    await goOn(laggard);
  });

  it('are told from other servers when they are looked at', async () => {
    const { pool } = service.app.get<DirectoryDataSource>(DataSource);
    const [replica, other] = replicas;
    for (const [url, reason] of [
      [urlOf(replica), null],
      [urlOf(other), null],
      [primary.url('directory'), 'it is no replica'],
      [replica.url('postgres'), 'it has the data of another server or database'],
      [variable('TEST_POSTGRES_URL'), 'it has the data of another server or database'],
      ['postgres://127.0.0.1:1/directory', expect.stringContaining('ECONNREFUSED') as string],
    ] as const) {
      expect([url, await examineReplica(url, pool)]).toEqual([url, reason]);
    }
  });

  it('that are away are left alone, said so in the log, and taken back', async () => {
    for (const proxy of proxies) proxy.refuse();
    expect(await read(service)).toEqual({ number: revision, byReplica: 0 });
    await untilAsked(0);
    expect(
      logged.mock.calls.filter(([text]) => /replica 127.0.0.1:\d+ is left alone/.test(String(text))),
    ).not.toEqual([]);
    await apply();
    expect(await read(service)).toEqual({ number: revision, byReplica: 0 });
    for (const proxy of proxies) proxy.mend();
    await untilAsked(2);
    expect(await read(service)).toEqual({ number: revision, byReplica: 1 });
  });

  it('that hang are waited for no longer than three seconds, and then not at all', async () => {
    for (const replica of replicas) replica.hang();
    const begun = performance.now();
    expect((await read(service)).number).toBe(revision);
    expect(performance.now() - begun).toBeLessThan(3000);
    await untilAsked(0);
    expect(await read(service)).toEqual({ number: revision, byReplica: 0 });
    for (const replica of replicas) replica.goOn();
  });

  it('that are promoted go their own way, and are read again once they are replicas', async () => {
    const [promoted] = replicas;
    await promoted.promote();
    await untilAsked(1);
    await administrate(promoted, 'directory', `update users set name = 'p1 of 9999' where id = 'p1'`);
    await administrate(
      promoted,
      'directory',
      `update mirror_state set revision = (select max(id) from revisions)`,
    );
    for (let time = 0; time < 4; time++) expect((await read(service)).number).toBe(revision);
    await promoted.stop();
    replicas[0] = await startReplica();
    const [target] = targets;
    if (target !== undefined) target.port = replicas[0].port;
    await untilAsked(2);
  });

  it('go on answering while the primary is away, in whose place nobody is', async () => {
    const token = await service.accessToken('read');
    await primary.kill();
    const query = '{ user(user: {id: "p1"}) { name } }';
    expect(dataOf(await post(service, { query }, { authorization: token }))).toEqual({
      user: { name: `p1 of ${revision}` },
    });
    expect((await send(service, { path: '/_readiness' })).status).toBe(503);
    await primary.start();
    await untilAsked(2);
  });
});
