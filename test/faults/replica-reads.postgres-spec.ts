import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { DirectoryDataSource } from '../../src/database/connections/data-source.js';
import { checkReplica, ReadReplica } from '../../src/database/connections/replica.js';
import { Replicas } from '../../src/database/connections/replicas.js';
import { MonotonicReader, directoryOf } from '../support/clients/monotonic-reader.js';
import { writeClients } from '../support/clients/clients.js';
import { dataOf, post, send } from '../support/clients/http.js';
import { stopFollowing } from '../support/clients/mirror.js';
import {
  administrate,
  endConnections,
  resumeReplay,
  pause,
  ReplicatedPostgres,
  urlOfReader,
} from '../support/servers/replicated-postgres.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';
import { TwinService } from '../support/twin.js';

/** Counts the statements on the primary and on the replicas. */
const PRIMARYS = '{ directoryStatus { state } }';
const OF_REPLICAS = '{ user(user: {id: "p1"}) { name } }';

let servers: ReplicatedPostgres;
/** Applies revisions. */
let service: TestService;
/** Another process on the same servers. */
let twin: TwinService;
/** A third process without settings of replicas. */
let alone: TwinService;
let authorization: string;
let revision = 1;
const asked = jest.spyOn(ReadReplica.prototype, 'read');
const logged = jest.spyOn(Logger.prototype, 'warn');

beforeAll(async () => {
  servers = await ReplicatedPostgres.start();
  const environment = {
    DATABASE_URL: servers.primary.url('directory'),
    DATABASE_REPLICA_URLS: servers.replicaUrls,
    // All data.
    RESPONSE_CACHE_MEGABYTES: '0',
    AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'app', owner: 'p1' }]),
  };
  service = await TestService.start({ ldif: directoryOf(revision), environment, compared: false });
  await stopFollowing(service);
  twin = await TwinService.start(service, environment);
  alone = await TwinService.start(service);
  expect(alone.app.get(Replicas)).toBeNull();
  authorization = await service.serviceAccount('read', 'directory');
});

afterAll(async () => {
  try {
    await alone.stop();
    await twin.stop();
    await service.stop();
  } finally {
    await servers.stop();
  }
});

beforeEach(() => untilAsked(2));

/** Number of replicas that a process uses, from its readiness; NaN: it is not ready. */
async function countAsked(of: TestService | TwinService): Promise<number> {
  const { status, body } = await send(of, { path: '/_readiness' });
  const { details } = JSON.parse(body) as {
    details: { database: { status: string; replicas: { all: number; current: number } } };
  };
  expect(details.database.replicas.all).toBe(2);
  return status === 200 ? details.database.replicas.current : NaN;
}

async function untilAsked(count: number): Promise<void> {
  for (const each of [service, twin]) {
    await service.until(async () => (await countAsked(each)) === count);
  }
}

/** The served revision, and the share of its responses that replicas gave. */
async function read(from: TestService | TwinService): Promise<{ number: number; byReplica: number }> {
  asked.mockClear();
  const query = '{ user(user: {id: "p1"}) { name groups(first: 1) { nodes { group { name } } } } }';
  const { body } = await post(from, { query }, { authorization });
  const numbers = new Set([...body.matchAll(/ of (\d+)"/g)].map(([, number]) => Number(number)));
  expect(numbers.size).toBe(1);
  const answers = await Promise.all(asked.mock.results.map(({ value }) => value as Promise<unknown>));
  return { number: [...numbers][0] ?? NaN, byReplica: answers.filter((each) => each !== null).length };
}

/** The replicas in the order of the requests. */
async function sendRequests(of: TestService | TwinService, count: number): Promise<unknown[]> {
  asked.mockClear();
  for (let time = 0; time < count; time++) {
    await post(of, { query: '{ user(user: {id: "p1"}) { name } }' }, { authorization });
  }
  return [...(asked.mock.contexts as unknown[])];
}

async function apply(): Promise<void> {
  service.replaceDirectory(directoryOf(++revision));
  expect((await service.synchronize()).kind).toBe('applied');
}

describe('read replicas', () => {
  it('serve all reads with a revision, in both processes; all other statements go to the primary', async () => {
    for (const each of [service, twin]) {
      expect(await read(each)).toEqual({ number: revision, byReplica: 1 });
      expect(new Set(await sendRequests(each, 4)).size).toBe(2);
    }
    asked.mockClear();
    const status = await post(service, { query: '{ directoryStatus { state } }' }, { authorization });
    expect(dataOf(status)).toEqual({ directoryStatus: { state: 'IDLE' } });
    // An empty result of a replica is not trusted, although the replica is read.
    const unknownUser = await post(
      service,
      { query: '{ user(user: {id: "nobody"}) { name } }' },
      { authorization },
    );
    expect(unknownUser.body).toContain('NOT_FOUND');
    expect(asked.mock.calls).toHaveLength(1);
  });

  it.each([
    '{ users(first: 50) { totalCount pageInfo { hasNextPage } nodes { id name groups(first: 5) { nodes { group { id } } } } } }',
    '{ groups(first: 50) { totalCount nodes { id subgroups(first: 5) { nodes { id } } parents(first: 5) { totalCount } } } }',
    '{ group(group: {id: "all"}) { members(first: 7) { totalCount edges { cursor node { user { name } } } } } }',
    '{ search(query: "members", first: 5) { nodes { ... on Group { id } } } }',
    '{ isMember(user: {id: "p1"}, group: {id: "around"}) changes(first: 20) { totalCount edges { cursor } } }',
  ])('return the same as the primary: %s', async (query) => {
    asked.mockClear();
    const answer = dataOf(await post(twin, { query }, { authorization }));
    const given = await Promise.all(asked.mock.results.map(({ value }) => value as Promise<unknown>));
    expect(given).not.toEqual([]);
    expect(given).not.toContain(null);
    expect(answer).toEqual(dataOf(await post(alone, { query }, { authorization })));
    expect(asked).toHaveBeenCalledTimes(given.length);
  });

  it('are not used by previews', async () => {
    const token = await service.accessToken('profile write', 'app');
    asked.mockClear();
    const query = 'mutation { updateProfile(input: {name: "New"}) { profile { name } } }';
    const { body } = await post(service, { query }, { authorization: token });
    expect(body).toContain('"New"');
    expect(asked).not.toHaveBeenCalled();
  });

  it('are not used before they have the revision, and are used afterwards', async () => {
    await Promise.all(servers.replicas.map(({ server }) => pause(server)));
    await apply();
    // The process that applied it, immediately; the other one within a second at worst.
    expect(await read(service)).toEqual({ number: revision, byReplica: 0 });
    await service.until(async () => (await read(twin)).number === revision);
    expect(await read(twin)).toEqual({ number: revision, byReplica: 0 });
    await untilAsked(0);
    await resumeReplay(servers.replicas[0].server);
    await untilAsked(1);
    expect(await read(service)).toEqual({ number: revision, byReplica: 1 });
    await resumeReplay(servers.replicas[1].server);
  });

  it('that lag occasionally never cause a response of two revisions, or one that goes back', async () => {
    const [here, there] = [
      new MonotonicReader(service, authorization),
      new MonotonicReader(twin, authorization),
    ];
    try {
      for (let count = 0; count < 8; count++) {
        const lagging = servers.replicas[count % 2 === 0 ? 0 : 1].server;
        await pause(lagging);
        await apply();
        here.expect(revision);
        await service.until(() => Promise.resolve(there.newest === revision));
        await resumeReplay(lagging);
      }
    } finally {
      await Promise.all([here.end(), there.end()]);
    }
    for (const { problems, asked: count } of [here, there]) {
      expect(problems.slice(0, 3)).toEqual([]);
      expect(count).toBeGreaterThan(8);
    }
  });

  it('with responses older than served ones are not used', async () => {
    const [{ server: laggard }, { server: other, target }] = servers.replicas;
    await pause(laggard);
    await apply();
    await service.until(async () => (await countAsked(service)) === 1);
    // Behind one address, like behind a balancer, there is the other replica, too.
    target.port = laggard.port;
    await endConnections(other, `query not like '%pg_is_in_recovery%'`);
    await service.until(async () => {
      const { number, byReplica } = await read(service);
      expect(number).toBe(revision);
      return byReplica === 1;
    });
    target.port = other.port;
    await endConnections(laggard, 'true');
    await resumeReplay(laggard);
  });

  it('of other servers are detected', async () => {
    const { pool } = service.app.get<DirectoryDataSource>(DataSource);
    const [replica, other] = servers.replicas;
    for (const [url, reason] of [
      [urlOfReader(replica.server), null],
      [urlOfReader(other.server), null],
      [servers.primary.url('directory'), 'it is not a replica'],
      [replica.server.url('postgres'), 'it has the data of another server or database'],
      [variable('TEST_POSTGRES_URL'), 'it has the data of another server or database'],
      ['postgres://127.0.0.1:1/directory', expect.stringContaining('ECONNREFUSED') as string],
    ] as const) {
      expect([url, await checkReplica(url, pool)]).toEqual([url, reason]);
    }
  });

  it('that are unavailable are not used, are logged, and are used again afterwards', async () => {
    for (const { proxy } of servers.replicas) proxy.refuse();
    expect(await read(service)).toEqual({ number: revision, byReplica: 0 });
    await untilAsked(0);
    expect(
      logged.mock.calls.filter(([text]) => /replica 127.0.0.1:\d+ is not used/.test(String(text))),
    ).not.toEqual([]);
    await apply();
    expect(await read(service)).toEqual({ number: revision, byReplica: 0 });
    for (const { proxy } of servers.replicas) proxy.restore();
    await untilAsked(2);
    expect(await read(service)).toEqual({ number: revision, byReplica: 1 });
  });

  it('that hang are waited for until a timeout, and then not used', async () => {
    for (const { server } of servers.replicas) server.hang();
    expect((await read(service)).number).toBe(revision);
    await untilAsked(0);
    expect(await read(service)).toEqual({ number: revision, byReplica: 0 });
    for (const { server } of servers.replicas) server.resume();
  });

  it('that are promoted are not used, and are used again after they are replicas', async () => {
    const [replica] = servers.replicas;
    const { server: promoted } = replica;
    await promoted.promote();
    await untilAsked(1);
    await administrate(promoted, 'directory', `update users set name = 'p1 of 9999' where id = 'p1'`);
    await administrate(
      promoted,
      'directory',
      `update mirror_state set revision = (select max(id) from revisions)`,
    );
    for (let time = 0; time < 4; time++) expect((await read(service)).number).toBe(revision);
    await servers.replace(replica);
    await untilAsked(2);
  });

  it('continue while the primary is read-only', async () => {
    const set = (...statements: string[]) =>
      statements.reduce<Promise<void>>(
        (done, each) => done.then(() => administrate(servers.primary, 'postgres', each)),
        Promise.resolve(),
      );
    const status = async () => (await send(service, { path: '/_readiness' })).status;
    const token = await service.accessToken('read', 'app');
    await set('alter system set default_transaction_read_only = on', 'select pg_reload_conf()');
    try {
      await service.until(
        async () => (await post(service, { query: PRIMARYS }, { authorization })).status === 503,
      );
      // The result of a check is reused for a moment.
      await service.until(async () => (await status()) === 503);
      expect(dataOf(await post(service, { query: OF_REPLICAS }, { authorization: token }))).toEqual({
        user: { name: `p1 of ${revision}` },
      });
    } finally {
      await set('alter system reset default_transaction_read_only', 'select pg_reload_conf()');
    }
    await service.until(async () => (await status()) === 200);
  });

  it('continue while the primary is stopped', async () => {
    const token = await service.accessToken('read', 'app');
    await servers.primary.kill();
    expect(dataOf(await post(service, { query: OF_REPLICAS }, { authorization: token }))).toEqual({
      user: { name: `p1 of ${revision}` },
    });
    await service.until(async () => (await send(service, { path: '/_readiness' })).status === 503);
    await servers.primary.start();
    await untilAsked(2);
  });
});
