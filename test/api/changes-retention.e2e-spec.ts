import { DataSource } from 'typeorm';
import { pruneChanges } from '../../src/mirror/revision/write-changes.js';
import { type ChangesPage, followChanges, readChanges, summarizeChange } from '../support/clients/changes.js';
import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const PEOPLE: TestPerson[] = ['anna', 'ben', 'cleo', 'dan'].map((id) => ({ id }));
const GROUPS: TestGroup[] = [
  { id: 'club', members: ['anna', '@team'], owners: ['ben'] },
  { id: 'team', members: ['cleo'] },
];

/** Makes the oldest changes of a service older than its retention period. */
async function age({ app }: TestService, count: number): Promise<void> {
  await app.get(DataSource).query(
    `update changes set at = at - interval '8 days'
     where id in (select id from changes order by id limit ${count}) and at > now() - interval '7 days'`,
  );
}

const prune = ({ app }: TestService) => pruneChanges(app.get(DataSource), 7);

async function countRows({ app }: TestService): Promise<number> {
  return (await app.get(DataSource).query<unknown[]>('select from changes')).length;
}

describe('expired changes', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(PEOPLE, GROUPS),
    logged: true,
    environment: { DIRECTORY_CHANGES_DAYS: '7' },
  });
  let authorization: string;
  /** Of the first ten changes: four users, two groups, four memberships. */
  let cursors: string[];

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
    await stopFollowing(service);
    const { data } = await service.query<{ changes: { edges: { cursor: string }[] } }>(
      '{ changes(first: 100) { edges { cursor } } }',
      { authorization },
    );
    cursors = data?.changes.edges.map(({ cursor }) => cursor) ?? [];
    await age(service, 4);
  });

  /** The number of changes in a range, or the error. */
  async function sendRequest(range: string): Promise<number | string> {
    const { status, data, errors } = await service.query<{ changes: ChangesPage | null }>(
      `{ changes(${range}) { nodes { id } } }`,
      { authorization },
    );
    expect(status).toBe(200);
    return data?.changes?.nodes.length ?? errors.map(({ extensions }) => extensions.code).join();
  }

  describe('after their deletion', () => {
    beforeAll(async () => {
      await prune(service);
      expect(await countRows(service)).toBe(6);
    });

    it('are neither returned nor counted', async () => {
      for (const filter of ['', ', filter: {since: "1970-01-01T00:00:00Z"}']) {
        for (const range of ['first: 6', 'last: 6']) {
          const { nodes, totalCount, pageInfo } = await readChanges(service, authorization, range + filter);
          expect([nodes[0]?.groupId, nodes.length, totalCount]).toEqual(['club', 6, 6]);
          expect(pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: false });
        }
      }
      const later = await readChanges(service, authorization, `first: 100, after: "${cursors[5] ?? ''}"`);
      expect([later.nodes.length, later.pageInfo.hasPreviousPage]).toEqual([4, true]);
    });

    it('invalidate the cursors before the last of them', async () => {
      const found: unknown[] = [];
      for (const cursor of cursors) {
        found.push([
          await sendRequest(`first: 9, after: "${cursor}"`),
          await sendRequest(`last: 9, before: "${cursor}"`),
        ]);
      }
      const expired = ['CHANGE_CURSOR_EXPIRED', 'CHANGE_CURSOR_EXPIRED'];
      const kept = [6, 5, 4, 3, 2, 1, 0].map((after, index) => [after, Math.max(0, index - 1)]);
      expect(found).toEqual([expired, expired, expired, ...kept]);
    });
  });

  it('are deleted from the beginning of the log', async () => {
    await age(service, 3);
    await prune(service);
    service.replaceDirectory(buildLdif(PEOPLE.slice(0, 3), GROUPS));
    expect(await service.synchronize()).toMatchObject({ kind: 'applied' });
    expect(await countRows(service)).toBe(4);
    expect((await readChanges(service, authorization)).totalCount).toBe(4);
    expect(await sendRequest('first: 9, filter: {user: {id: "dan"}}')).toBe(1);
  });

  it('can leave an empty log, and its cursor remains valid', async () => {
    const { endCursor } = (await readChanges(service, authorization)).pageInfo;
    await age(service, 4);
    await prune(service);
    // Of the revisions, too, only those remain that a valid cursor can have.
    expect(await service.app.get(DataSource).query('select from revisions')).toHaveLength(1);
    expect(await sendRequest(`first: 9, after: "${cursors[0] ?? ''}"`)).toBe('CHANGE_CURSOR_EXPIRED');
    expect(await sendRequest('first: 9, filter: {user: {id: "dan"}}')).toBe('NOT_FOUND');
    expect(await readChanges(service, authorization)).toMatchObject({ nodes: [], totalCount: 0 });
    service.replaceDirectory(buildLdif([...PEOPLE.slice(0, 3), { id: 'emma' }], GROUPS));
    await service.synchronize();
    const { changes } = await followChanges(service, authorization, endCursor);
    expect(changes.map(summarizeChange)).toEqual(['USER_CREATED emma']);
  });

  it('keep the order of times after a clock was set back', async () => {
    const ahead = new Date(Date.now() + 3_600_000).toISOString();
    const { pageInfo } = await readChanges(service, authorization);
    await service.app.get(DataSource).query('update changes set at = $1', [ahead]);
    service.replaceDirectory(buildLdif([...PEOPLE.slice(0, 3), { id: 'finn' }], GROUPS));
    await service.synchronize();
    const { changes } = await followChanges(service, authorization, pageInfo.endCursor);
    expect(changes.map(({ at }) => at)).toEqual([ahead, ahead]);
  });
});

describe('changes of a clock that was wrong', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(PEOPLE, GROUPS),
    logged: true,
    environment: { DIRECTORY_CHANGES_DAYS: '7' },
  });

  /** Gives the changes other times, in days before now, oldest first. */
  async function setAges(...days: number[]): Promise<void> {
    await service.app.get(DataSource).query(
      `update changes set at = now() - make_interval(hours => 24 * aged.days)
       from (select id, row_number() over (order by id) as place from changes) placed
         join unnest($1::integer[]) with ordinality as aged (days, place) on aged.place = placed.place
       where changes.id = placed.id`,
      [days],
    );
  }

  beforeAll(async () => {
    await stopFollowing(service);
    expect(await countRows(service)).toBe(10);
  });

  it('expire a day at a time, and never before one that is kept', async () => {
    // All seem to be expired: the clock is ahead.
    await setAges(20, 20, 19, 19, 18, 18, 17, 17, 16, 15);
    await prune(service);
    expect(await countRows(service)).toBe(8);
    // Of a clock that was decades behind, or ahead.
    await setAges(9, 6, 20_000, 6, -20_000, 6, 5, 4);
    await prune(service);
    expect(await countRows(service)).toBe(7);
    await setAges(9, 9, 9, -20_000, 9, 5, 4);
    await prune(service);
    expect(await countRows(service)).toBe(2);
  });

  it('do not decide the times of later ones', async () => {
    await setAges(-20_000, -20_000);
    service.replaceDirectory(buildLdif([...PEOPLE, { id: 'emma' }], GROUPS));
    await service.synchronize();
    const [last] = await service.app
      .get(DataSource)
      .query<{ isNow: boolean }[]>(
        `select at between now() - interval '1 hour' and now() as "isNow" from changes order by id desc limit 1`,
      );
    expect(last).toEqual({ isNow: true });
  });
});
