import { once } from 'node:events';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { Database } from '../../src/database/database.js';
import { announcementIn } from '../../src/database/revisions/announcement.js';
import type { ChangedObjects } from '../../src/database/revisions/changed-objects.js';
import { Revisions } from '../../src/database/revisions/revisions.js';
import { MonotonicReader, directoryOf } from '../support/clients/monotonic-reader.js';
import { post } from '../support/clients/http.js';
import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { repetitions } from '../support/repetitions.js';
import { TestService } from '../support/servers/service.js';
import { TwinService } from '../support/twin.js';

const REVISIONS = repetitions({ usually: 20, long: 50 });

describe('the revision of a response', () => {
  /** Applies revisions. */
  let service: TestService;
  let twin: TwinService;
  /** The knowledge of another process on the same database. */
  let other: Revisions;

  beforeAll(async () => {
    service = await TestService.start({ ldif: directoryOf(1), compared: false });
    await stopFollowing(service);
    twin = await TwinService.start(service);
    other = twin.app.get(Revisions);
    await service.until(() => Promise.resolve(other.current?.number === 1));
  });

  afterAll(async () => {
    await twin.stop();
    await service.stop();
  });

  it('never goes back, and is the only one of a response, during concurrent changes', async () => {
    const authorization = await service.serviceAccount('read', 'directory');
    const [here, there] = [
      new MonotonicReader(service, authorization),
      new MonotonicReader(twin, authorization),
    ];
    try {
      for (let revision = 2; revision <= REVISIONS + 1; revision++) {
        service.replaceDirectory(directoryOf(revision));
        expect((await service.synchronize()).kind).toBe('applied');
        expect(service.app.get(Revisions).current?.number).toBe(revision);
        here.expect(revision);
        // Another process learns of it within a second, plus time for a busy machine.
        if (revision % 5 === 0) await service.until(() => Promise.resolve(there.newest === revision));
      }
      await service.until(() => Promise.resolve(there.newest === REVISIONS + 1));
    } finally {
      await Promise.all([here.end(), there.end()]);
    }
    for (const { problems, asked, unanswered, executions } of [here, there]) {
      expect(problems.slice(0, 3)).toEqual([]);
      // A response that was not executed comes from the cache.
      expect(asked - unanswered - executions.count).toBeGreaterThan(REVISIONS);
    }
  });

  it('is the only one of a response, even if the directory changes after each statement', async () => {
    const authorization = await service.serviceAccount('read', 'directory');
    const database = service.app.get(Database);
    const read = database.read.bind(database);
    let revision = REVISIONS + 1;
    let isChanging = false;
    const spy = jest.spyOn(database, 'read').mockImplementation(async (statement, values) => {
      const rows = await read(statement, values);
      // A synchronization reads, too.
      if (!isChanging) {
        isChanging = true;
        service.replaceDirectory(directoryOf(++revision));
        await service.synchronize();
        isChanging = false;
      }
      return rows;
    });
    try {
      const query = '{ users(first: 50) { nodes { name groups(first: 2) { nodes { group { name } } } } } }';
      const { status, body } = await post(service, { query }, { authorization });
      const names = [...body.matchAll(/ of (\d+)"/g)].map(([, number]) => number);
      expect([status, names.length, new Set(names).size]).toEqual([200, 90, 1]);
      expect(spy.mock.calls.length).toBeGreaterThanOrEqual(6);
    } finally {
      spy.mockRestore();
    }
    const { current } = service.app.get(Revisions);
    await service.until(() => Promise.resolve(other.current?.number === current?.number));
  });

  it('is not known without the database, and is known when it is back', async () => {
    const { database } = service.config;
    const { number } = other.current ?? {};
    // A session cannot disallow connections to its own database.
    const url = new URL(database.url);
    const name = url.pathname.slice(1);
    url.pathname = '/postgres';
    const client = new pg.Client(url.href);
    await client.connect();
    const allowConnections = (isAllowed: boolean) =>
      client.query(`alter database ${pg.escapeIdentifier(name)} with allow_connections ${isAllowed}`);
    // Otherwise it can be connected again before this test looks.
    await allowConnections(false);
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = $1 and query ~ 'listen directory_revision|cursor_key'`,
      [name],
    );
    await service.until(() => Promise.resolve(other.current === null));
    await allowConnections(true);
    await client.end();
    await service.until(() => Promise.resolve(other.current?.number === number));
  });

  it('is not confused by notifications of other sessions', async () => {
    const dataSource = twin.app.get(DataSource);
    const current = other.current;
    const next = (current?.number ?? 0) + 1;
    const real = { number: next, id: current?.id, previous: current?.id, asOf: 1, age: 0, changed: null };
    for (const forged of [
      { ...real, id: 'no UUID' },
      { ...real, number: 5_000_000_000 },
      { ...real, previous: {} },
      { ...real, asOf: 'now' },
    ]) {
      expect(announcementIn(JSON.stringify(forged))).toBeNull();
      await dataSource.query(`select pg_notify('directory_revision', $1)`, [JSON.stringify(forged)]);
    }
    service.replaceDirectory(directoryOf(next));
    expect((await service.synchronize()).kind).toBe('applied');
    await service.until(() => Promise.resolve(other.current?.number === next));
  });
});

describe('a revision', () => {
  let service: TestService;
  const people = new Map<string, TestPerson>();
  const groups = new Map<string, TestGroup>();

  beforeAll(async () => {
    for (const id of ['ada', 'ben', 'cleo', 'dora']) people.set(id, { id, name: id });
    groups.set('inner', { id: 'inner', members: ['ada', 'ben'] });
    groups.set('outer', { id: 'outer', members: ['@inner'] });
    groups.set('other', { id: 'other', members: ['cleo'] });
    service = await TestService.start({ ldif: ldif(), compared: false });
    await stopFollowing(service);
  });

  afterAll(() => service.stop());

  const ldif = () => buildLdif([...people.values()], [...groups.values()]);

  /** What a revision says, with ids for keys, and whether lists find users and groups in another way. */
  async function changedBy(changes: { people?: TestPerson[]; groups?: TestGroup[]; gone?: string[] }) {
    const before = await keys();
    for (const person of changes.people ?? []) people.set(person.id, person);
    for (const group of changes.groups ?? []) groups.set(group.id, group);
    for (const id of changes.gone ?? []) {
      people.delete(id);
      groups.delete(id);
    }
    const noted = await announcementOf(apply);
    const ids = new Map([...before, ...(await keys())]);
    const [row] = await rows<{ changed: ChangedObjects | null }>(
      'select changed from revisions order by id desc limit 1',
    );
    expect(noted).toEqual(row?.changed);
    const changed = row?.changed ?? null;
    if (changed === null) return null;
    const named = (kind: string, list: readonly number[]) =>
      list.map((key) => ids.get(`${kind} ${key}`)).sort();
    return {
      users: named('user', changed.users),
      groups: named('group', changed.groups),
      members: named('group', changed.members),
      memberOf: named('user', changed.memberOf),
      any: [...(changed.anyUser ? ['user'] : []), ...(changed.anyGroup ? ['group'] : [])],
    };
  }

  async function apply(): Promise<void> {
    service.replaceDirectory(ldif());
    expect((await service.synchronize()).kind).toBe('applied');
  }

  /** What the first announcement after the begin of an action says. */
  async function announcementOf(action: () => Promise<void>): Promise<ChangedObjects | null> {
    const { database } = service.config;
    const client = new pg.Client(database.url);
    await client.connect();
    try {
      await client.query('listen directory_revision');
      const announced = once(client, 'notification') as Promise<[pg.Notification]>;
      await action();
      const [{ payload }] = await announced;
      return announcementIn(payload)?.changed ?? null;
    } finally {
      await client.end();
    }
  }

  async function keys(): Promise<[string, string][]> {
    const found = await rows<{ name: string; id: string }>(
      `select 'user ' || key as name, id from users union all select 'group ' || key, id from groups`,
    );
    return found.map(({ name, id }) => [name, id]);
  }

  function rows<Row extends object>(text: string): Promise<Row[]> {
    return service.app.get(DataSource).query(text);
  }

  const NOTHING = { users: [], groups: [], members: [], memberOf: [], any: [] };

  it.each([
    ['another value', { people: [{ id: 'ada', name: 'ada', schoolYear: '1A' }] }, { users: ['ada'] }],
    [
      'a name, which moves the user in lists',
      { people: [{ id: 'ada', name: 'Zada', schoolYear: '1A' }] },
      { users: ['ada'], members: ['inner', 'outer'], any: ['user'] },
    ],
    [
      'a member of an inner group',
      { groups: [{ id: 'inner', members: ['ada', 'ben', 'dora'] }] },
      { groups: ['inner', 'outer'], members: ['inner', 'outer'], memberOf: ['dora'] },
    ],
    [
      'a role',
      { groups: [{ id: 'other', members: ['cleo'], admins: ['cleo'] }] },
      { groups: ['other'], members: ['other'], memberOf: ['cleo'] },
    ],
    [
      'a description of a group',
      { groups: [{ id: 'outer', description: 'New', members: ['@inner'] }] },
      { groups: ['outer'] },
    ],
    [
      'the name of a group',
      { groups: [{ id: 'outer', name: 'New', description: 'New', members: ['@inner'] }] },
      { groups: ['outer'], memberOf: ['ada', 'ben', 'dora'], any: ['group'] },
    ],
    [
      'a group inside another one',
      { groups: [{ id: 'other', members: ['cleo', '@outer'], admins: ['cleo'] }] },
      { groups: ['other', 'outer'], members: ['other'], memberOf: ['ada', 'ben', 'dora'] },
    ],
    ['a new user', { people: [{ id: 'emil' }] }, { any: ['user'] }],
    [
      'a deleted user',
      { gone: ['cleo'], groups: [{ id: 'other', members: ['@outer'] }] },
      { users: ['cleo'], groups: ['other'], members: ['other'], memberOf: ['cleo'], any: ['user'] },
    ],
    [
      'a deleted group',
      { gone: ['outer'], groups: [{ id: 'other', members: ['@inner'] }] },
      {
        groups: ['inner', 'other', 'outer'],
        members: ['other', 'outer'],
        memberOf: ['ada', 'ben', 'dora'],
        any: ['group'],
      },
    ],
    [
      'too much to name it',
      { people: Array.from({ length: 2001 }, (_, index) => ({ id: `p${index}` })) },
      null,
    ],
  ])('says what it changed, in its row and to all processes: %s', async (_what, changes, expected) => {
    expect(await changedBy(changes)).toEqual(expected && { ...NOTHING, ...expected });
  });
});
