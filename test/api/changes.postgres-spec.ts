import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { pruneChanges } from '../../src/mirror/revision/write-changes.js';
import {
  type ChangesPage,
  followChanges,
  readChanges,
  ClientReplica,
  summarizeChange,
} from '../support/clients/changes.js';
import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { takeOver } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const PEOPLE: TestPerson[] = ['anna', 'ben', 'cleo', 'dan'].map((id) => ({ id, name: id }));
const CLUB: TestGroup = { id: 'club', members: ['anna', '@team'], owners: ['ben'] };
const TEAM: TestGroup = { id: 'team', members: ['cleo'] };

describe('the log of changes', () => {
  const start = buildLdif(PEOPLE, [CLUB, TEAM]);
  const service = TestService.forSuite({
    ldif: start,
    logged: true,
    // All deletions of these tests are intended.
    environment: { DIRECTORY_GUARD_PERCENT: '100' },
  });
  let authorization: string;
  let current = start;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
  });

  // Every test starts with the same directory, and with the log of the earlier tests.
  afterEach(() => replace(start));

  async function replace(ldif: string): Promise<void> {
    if (ldif !== current) await takeOver(service, ldif);
    current = ldif;
  }

  async function findEnd(): Promise<string | null> {
    return (await readChanges(service, authorization, 'last: 1')).pageInfo.endCursor;
  }

  /** Applies a directory, and returns the new changes. */
  async function changesBy(people: TestPerson[], groups: TestGroup[]): Promise<string[]> {
    const end = await findEnd();
    await replace(buildLdif(people, groups));
    return (await followChanges(service, authorization, end)).changes.map(summarizeChange);
  }

  it('begins with all users and groups of the first revision, then their memberships', async () => {
    const { nodes, totalCount, pageInfo } = await readChanges(service, authorization);
    expect(nodes.map(summarizeChange)).toEqual([
      'USER_CREATED anna',
      'USER_CREATED ben',
      'USER_CREATED cleo',
      'USER_CREATED dan',
      'GROUP_CREATED club',
      'GROUP_CREATED team',
      'MEMBER_ADDED anna in club: - to MEMBER',
      'MEMBER_ADDED ben in club: - to OWNER',
      'MEMBER_ADDED cleo in club: - to MEMBER',
      'MEMBER_ADDED cleo in team: - to MEMBER',
    ]);
    expect([totalCount, pageInfo.hasNextPage, pageInfo.hasPreviousPage]).toEqual([10, false, false]);
    expect(new Set(nodes.map(({ at }) => at)).size).toBe(1);
    expect(new Set(nodes.map(({ id }) => id)).size).toBe(10);
    expect(nodes.map(({ user, group }) => [user?.id ?? null, group?.id ?? null])).toEqual(
      nodes.map(({ userId, groupId }) => [userId, groupId]),
    );
  });

  it('accepts a cursor with any filter', async () => {
    const { endCursor } = (await readChanges(service, authorization, 'first: 6')).pageInfo;
    const filter = 'filter: {kinds: [MEMBER_ADDED], group: {id: "club"}}';
    const page = await readChanges(
      service,
      authorization,
      `first: 1, after: "${endCursor ?? ''}", ${filter}`,
    );
    expect(page.nodes.map(summarizeChange)).toEqual(['MEMBER_ADDED anna in club: - to MEMBER']);
    expect(page.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
  });

  it('contains deletions, changes, additions and roles in an order in which they can be applied', async () => {
    const people = [{ id: 'emma' }, { id: 'anna', name: 'Anne' }, ...PEOPLE.slice(1, 3)];
    const groups: TestGroup[] = [
      { ...CLUB, description: 'Plays chess', members: ['ben', '@team', 'emma'], owners: ['anna'] },
      { id: 'band', admins: ['emma', 'anna'] },
    ];
    expect(await changesBy(people, groups)).toEqual([
      'MEMBER_REMOVED cleo in club: MEMBER to -',
      'MEMBER_REMOVED cleo in team: MEMBER to -',
      'USER_DELETED dan',
      'GROUP_DELETED team',
      'USER_UPDATED anna',
      'GROUP_UPDATED club',
      'USER_CREATED emma',
      'GROUP_CREATED band',
      'ROLE_CHANGED anna in club: MEMBER to OWNER',
      'ROLE_CHANGED ben in club: OWNER to MEMBER',
      'MEMBER_ADDED emma in club: - to MEMBER',
      'MEMBER_ADDED anna in band: - to ADMIN',
      'MEMBER_ADDED emma in band: - to ADMIN',
    ]);
  });

  it('contains no change if a role is only inherited on another path', async () => {
    expect(await changesBy(PEOPLE, [{ ...CLUB, members: ['anna', 'cleo', '@team'] }, TEAM])).toEqual([]);
    expect(await changesBy(PEOPLE, [{ ...CLUB, members: ['anna', 'cleo'] }, TEAM])).toEqual([]);
  });

  it('contains the ids of users and groups at that time, and each change of an id', async () => {
    const [olga, pia, guild] = [randomUUID(), randomUUID(), randomUUID()];
    const named = (first: string, second: string, group: string): [TestPerson[], TestGroup[]] => [
      [...PEOPLE, { id: first, name: 'O', uuid: olga }, { id: second, name: 'P', uuid: pia }],
      [CLUB, TEAM, { id: group, name: 'G', uuid: guild, members: [first], owners: [second] }],
    ];
    await changesBy(...named('olga', 'pia', 'guild'));
    // The two swap their ids in one revision.
    expect(await changesBy(...named('pia', 'olga', 'society'))).toEqual([
      'USER_UPDATED olga, was pia',
      'USER_UPDATED pia, was olga',
      'GROUP_UPDATED society, was guild',
    ]);
    const { nodes } = await readChanges(service, authorization, 'first: 9, filter: {user: {id: "PIA"}}');
    expect(nodes.map((change) => [summarizeChange(change), change.user?.id, change.group?.id])).toEqual([
      ['USER_CREATED olga', 'pia', undefined],
      ['MEMBER_ADDED olga in guild: - to MEMBER', 'pia', 'society'],
      ['USER_UPDATED pia, was olga', 'pia', undefined],
    ]);
    const replica = new ClientReplica();
    replica.apply((await followChanges(service, authorization, null)).changes);
    expect([...(replica.groups.get('society') ?? [])].sort()).toEqual([
      ['olga', 'OWNER'],
      ['pia', 'MEMBER'],
    ]);
  });

  it('contains the deletion of an entry before another entry gets its id', async () => {
    const named = (id: string, name: string) => ({ id, name, uuid: randomUUID() });
    const [first, second, third] = [named('olga', 'First'), named('olga', 'Second'), named('Olga', 'Third')];
    const guild = () => ({ ...named('guild', 'Guild'), members: ['olga'] });
    await changesBy([...PEOPLE, first], [CLUB, TEAM, guild()]);
    expect(await changesBy([...PEOPLE, second], [CLUB, TEAM, guild()])).toEqual([
      'MEMBER_REMOVED olga in guild: MEMBER to -',
      'USER_DELETED olga',
      'GROUP_DELETED guild',
      'USER_CREATED olga',
      'GROUP_CREATED guild',
      'MEMBER_ADDED olga in guild: - to MEMBER',
    ]);
    // The entry with this id gets another one, and a third entry gets the id in other case.
    const last = [third, { ...second, id: 'pia' }];
    expect(await changesBy([...PEOPLE, ...last], [{ ...CLUB, members: ['pia'] }, TEAM])).toEqual([
      'MEMBER_REMOVED anna in club: MEMBER to -',
      'MEMBER_REMOVED cleo in club: MEMBER to -',
      'MEMBER_REMOVED olga in guild: MEMBER to -',
      'GROUP_DELETED guild',
      'USER_UPDATED pia, was olga',
      'USER_CREATED Olga',
      'MEMBER_ADDED pia in club: - to MEMBER',
    ]);
    const replica = new ClientReplica();
    replica.apply((await followChanges(service, authorization, null)).changes);
    expect(replica.people).toEqual(new Set([...PEOPLE.map(({ id }) => id), 'Olga', 'pia']));
    expect([...(replica.groups.get('club') ?? [])].sort()).toEqual([
      ['ben', 'OWNER'],
      ['pia', 'MEMBER'],
    ]);
  });

  it('keeps only the id of a deleted user, so that their changes can be found', async () => {
    const about = async (subject: string) =>
      (await readChanges(service, authorization, `first: 100, filter: {${subject}}`)).nodes;
    const stage: TestGroup = { id: 'stage', members: ['@choir', 'anna'] };
    const rosa = { id: 'rosa', name: 'Rosalind' };
    await changesBy([...PEOPLE, rosa], [CLUB, TEAM, stage, { id: 'choir', members: ['rosa'] }]);
    await changesBy(PEOPLE, [CLUB, TEAM, stage]);
    const changes = await about('user: {id: "Rosa"}');
    expect(changes.map((change) => [summarizeChange(change), change.user ?? change.group?.id])).toEqual([
      ['USER_CREATED rosa', undefined],
      ['MEMBER_ADDED rosa in stage: - to MEMBER', 'stage'],
      ['MEMBER_ADDED rosa in choir: - to MEMBER', undefined],
      ['MEMBER_REMOVED rosa in stage: MEMBER to -', 'stage'],
      ['MEMBER_REMOVED rosa in choir: MEMBER to -', undefined],
      ['USER_DELETED rosa', undefined],
    ]);
    const kinds = (nodes: ChangesPage['nodes']) => nodes.map(({ kind }) => kind);
    const ofMember = ['MEMBER_ADDED', 'MEMBER_REMOVED'];
    expect(kinds(await about('group: {id: "CHOIR"}'))).toEqual([
      'GROUP_CREATED',
      ...ofMember,
      'GROUP_DELETED',
    ]);
    expect(kinds(await about('user: {id: "rosa"}, group: {id: "choir"}'))).toEqual(ofMember);
    const dataSource = service.app.get(DataSource);
    expect(await dataSource.query(`select from changes c where c::text like '%Rosalind%'`)).toEqual([]);
    // Another user has the same id: the current one is meant.
    await changesBy([...PEOPLE, { ...rosa, uuid: randomUUID() }], [CLUB, TEAM]);
    expect((await about('user: {id: "rosa"}')).map(summarizeChange)).toEqual(['USER_CREATED rosa']);
  });

  it('is filtered by time', async () => {
    const { totalCount } = await readChanges(service, authorization);
    const added = await changesBy(PEOPLE.slice(0, 3), [CLUB, TEAM, { id: 'band', members: ['anna'] }]);
    expect(added).toEqual([
      'USER_DELETED dan',
      'GROUP_CREATED band',
      'MEMBER_ADDED anna in band: - to MEMBER',
    ]);
    const since = (await followChanges(service, authorization, null)).changes.at(-1)?.at ?? '';
    const list = async (filter: string) => {
      const { nodes, ...page } = await readChanges(service, authorization, `last: 3, filter: {${filter}}`);
      return [nodes.map(summarizeChange), page.totalCount];
    };
    expect(await list(`since: "${since}"`)).toEqual([added, 3]);
    expect(await list(`kinds: [GROUP_CREATED], since: "${since}"`)).toEqual([[added[1]], 1]);
    expect(await list('since: "1970-01-01T00:00:00Z"')).toEqual([added, totalCount + 3]);
  });

  it.each([
    ['user: {id: "nobody"}', 'user'],
    ['group: {id: "nothing"}', 'group'],
    ['user: {id: "club"}', 'user'],
  ])('returns NOT_FOUND for an unknown object: %s', async (filter, argument) => {
    const document = `{ changes(first: 1, filter: {${filter}}) { totalCount } }`;
    const { status, data, errors } = await service.query(document, { authorization });
    expect([status, data]).toEqual([200, { changes: null }]);
    expect(errors.map(({ extensions }) => [extensions.code, extensions['argument']])).toEqual([
      ['NOT_FOUND', argument],
    ]);
  });

  it('returns each change once to a client that follows it during revisions', async () => {
    const end = await findEnd();
    const seen: ChangesPage['nodes'] = [];
    let isOver = false;
    const follow = async () => {
      let cursor = end;
      for (let wasOver = false; !wasOver;) {
        wasOver = isOver;
        const found = await followChanges(service, authorization, cursor, 3);
        seen.push(...found.changes);
        cursor = found.cursor;
      }
    };
    const following = follow();
    for (const id of ['emma', 'finn', 'gina']) {
      const club = { ...CLUB, members: ['anna', '@team', id] };
      await replace(buildLdif([...PEOPLE, { id }], [club, TEAM]));
    }
    isOver = true;
    await following;
    const { changes } = await followChanges(service, authorization, end);
    expect(seen.map(({ id }) => id)).toEqual(changes.map(({ id }) => id));
    expect(changes).toHaveLength(2 + 4 + 4);
  });
});

describe('the log of changes after the first revision', () => {
  const service = TestService.forSuite({ ldif: buildLdif(PEOPLE, [CLUB, TEAM]) });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('directory');
  });

  async function readStart(): Promise<string> {
    const { data } = await service.query<{ changes: { completeAfter: string } }>(
      '{ changes(last: 1) { completeAfter } }',
      { authorization },
    );
    return data?.changes.completeAfter ?? '';
  }

  it('is empty, and a copy that begins with a listing continues from the beginning of the log', async () => {
    const empty = { nodes: [], totalCount: 0, pageInfo: { hasNextPage: false, endCursor: null } };
    expect(await readChanges(service, authorization)).toMatchObject(empty);
    const start = await readStart();
    expect(await readChanges(service, authorization, `first: 9, after: "${start}"`)).toMatchObject(empty);
    await takeOver(service, buildLdif([...PEOPLE, { id: 'emma' }], [CLUB, TEAM]));
    for (const after of [null, start]) {
      const { changes } = await followChanges(service, authorization, after);
      expect(changes.map(summarizeChange)).toEqual(['USER_CREATED emma']);
    }
  });

  it('says after which cursor it is complete when changes have expired', async () => {
    const start = await readStart();
    await service.app.get(DataSource).query(`update changes set at = at - interval '31 days'`);
    await pruneChanges(service.app.get(DataSource), 30);
    const later = await readStart();
    const read = async (after: string) => {
      const { errors } = await service.query(`{ changes(first: 9, after: "${after}") { totalCount } }`, {
        authorization,
      });
      return errors.map(({ extensions }) => extensions.code);
    };
    expect([await read(start), await read(later)]).toEqual([['CHANGE_CURSOR_EXPIRED'], []]);
  });
});
