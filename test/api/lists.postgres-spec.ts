import { buildLdif } from '../support/builders/directory.js';
import { statementsOf } from '../support/builders/statements.js';
import { TestService } from '../support/servers/service.js';

/** One year, and one that only accents distinguish from it. */
const SPELLED = ['Année  Straße', 'ANNE\u0301E\u00a0STRASSE', '\uff41nnée stra\u00adße', 'Annee Strasse'];
const OTHERS = SPELLED.map((_, index) => `other${index}`);

describe('a filter', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(
      [
        { id: 'anna', name: 'Anna', schoolYear: '1A' },
        { id: 'ben', name: 'Ben', schoolYear: '1a' },
        { id: 'cleo', name: 'Cleo' },
        ...SPELLED.map((schoolYear, index) => ({ id: `other${index}`, name: `Other ${index}`, schoolYear })),
      ],
      [{ id: 'club', name: 'Club', members: ['anna', 'ben', 'cleo', ...OTHERS], owners: ['anna'] }],
    ),
  });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
  });

  it.each([
    { updatedSince: '0000-01-01T00:00:00Z', people: 7 },
    { updatedSince: '0001-01-01T00:00:00+14:00', people: 7 },
    { updatedSince: '2020-02-29T23:59:59.999-12:00', people: 7 },
    { updatedSince: '9999-12-31T23:59:59.999Z', people: 0 },
  ])('by the time of a change accepts every instant: %j', async ({ updatedSince, people }) => {
    expect(await countPeople({ updatedSince })).toBe(people);
  });

  it.each(['yesterday', '2026-02-30T00:00:00Z', '2026-01-01', '', '2026-01-01T00:00:00'])(
    'by the time of a change rejects invalid instants: %s',
    async (updatedSince) => {
      const { status, errors } = await service.query(COUNT, {
        authorization,
        variables: { filter: { updatedSince } },
      });
      expect([status, errors.map(({ extensions }) => extensions.code)]).toEqual([400, ['BAD_USER_INPUT']]);
    },
  );

  it.each([
    ['1A', 2],
    ['1a', 2],
    [' \t1\u200ba\u3000', 2],
    ['\uff11\uff21', 2],
    ['1A\0', 2],
    ['1 A', 0],
    ['1', 0],
    ['', 0],
    ['%', 0],
    ['\ud800', 0],
    ['x'.repeat(10_000), 0],
    ...SPELLED.slice(0, 3).map((text): [string, number] => [text, 3]),
    ['annee strasse', 1],
    ['annéestraße', 0],
  ])('by school year compares as the directory does: %j', async (schoolYear, people) => {
    expect(await countPeople({ schoolYear })).toBe(people);
    const { data } = await service.query<{ group: { members: { totalCount: number } } }>(
      'query ($filter: UserMemberFilter) { group(group: {id: "club"}) { members(first: 1, filter: $filter) { totalCount } } }',
      { authorization, variables: { filter: { schoolYear } } },
    );
    expect(data?.group.members.totalCount).toBe(people);
  });

  it.each([
    [['1A'], 2],
    [['1A', '1a', '1A'], 2],
    [['annee  strasse', '1a'], 3],
    [['', '2B'], 0],
    [[], 0],
  ])('by several school years finds users with one of them: %j', async (schoolYears, people) => {
    expect(await countPeople({ schoolYears })).toBe(people);
    const { group } = await service.read<{ group: { members: { totalCount: number } } }>(
      'query ($filter: UserMemberFilter) { group(group: {id: "club"}) { members(first: 1, filter: $filter) { totalCount } } }',
      { authorization, variables: { filter: { schoolYears } } },
    );
    expect(group.members.totalCount).toBe(people);
  });

  it.each([
    [{ schoolYears: Array.from({ length: 101 }, () => '1A') }, 'schoolYears'],
    [{ inGroup: { group: { id: 'club' } }, memberOf: { id: 'club' } }, 'inGroup'],
    [{ inGroup: { group: { id: 'club' } }, role: { is: 'OWNER' } }, 'inGroup'],
  ])('is refused if it is too long, or has the same twice', async (filter, argument) => {
    const { errors } = await service.query(COUNT, { authorization, variables: { filter } });
    expect(errors.map(({ extensions }) => [extensions.code, extensions['argument']])).toEqual([
      ['BAD_USER_INPUT', argument],
    ]);
  });

  it.each(['schoolYear: "1A"', 'schoolYears: ["1A"]'])(
    'of the groups of a user has no %s',
    async (filter) => {
      const text = `{ user(user: {id: "anna"}) { groups(first: 1, filter: {${filter}}) { totalCount } } }`;
      const { errors } = await service.query(text, { authorization });
      expect(errors.map(({ extensions }) => extensions.code)).toEqual(['GRAPHQL_VALIDATION_FAILED']);
    },
  );

  it('by a membership in a group selects as the deprecated members do, with the same cursors', async () => {
    const list = (filter: string, more = '') =>
      service.read<{ users: { nodes: object[]; pageInfo: { endCursor: string } } }>(
        `{ users(first: 1, ${more} filter: {${filter}}) { nodes { id } pageInfo { endCursor } } }`,
        { authorization },
      );
    const old = 'memberOf: {id: "club"}, role: {is: MEMBER}';
    const nested = 'inGroup: {group: {id: "club"}, role: {is: MEMBER}}';
    const first = await list(nested);
    expect(first).toEqual(await list(old));
    const after = `after: "${first.users.pageInfo.endCursor}",`;
    expect(await list(old, after)).toEqual(await list(nested, after));
    const groups = (filter: string) =>
      service.read<{ groups: { nodes: object[] } }>(
        `{ groups(first: 5, filter: {${filter}}) { nodes { id } } }`,
        { authorization },
      );
    for (const [id, role] of [
      ['anna', 'MEMBER'],
      ['anna', 'OWNER'],
      ['cleo', 'MEMBER'],
    ]) {
      const found = await groups(`withMember: {user: {id: "${id}"}, role: {is: ${role}}}`);
      expect(found).toEqual(await groups(`hasMember: {id: "${id}"}, role: {is: ${role}}`));
    }
    const { errors } = await service.query(
      '{ users(first: 1, filter: {inGroup: {group: {id: "unknown"}}}) { totalCount } }',
      { authorization },
    );
    expect(errors.map(({ extensions }) => [extensions.code, extensions['argument']])).toEqual([
      ['NOT_FOUND', 'inGroup'],
    ]);
  });

  it('that is null, in whole or in part, has no effect', async () => {
    const nothing = { search: null, schoolYear: null, memberOf: null, role: null, updatedSince: null };
    for (const filter of [null, {}, nothing]) expect(await countPeople(filter)).toBe(7);
    const data = await service.read(
      `{ group(group: {id: "club"}) { all: members(first: 1, filter: {role: null, origin: null, search: null, schoolYear: null}, orderBy: null) { totalCount }
           loose: members(first: 1, filter: {role: {is: OWNER, strict: null}}) { totalCount } }
         groups(first: 1, filter: {search: null, parent: null, hasMember: null, role: null}, orderBy: null) { totalCount } }`,
      { authorization },
    );
    expect(data).toEqual({
      group: { all: { totalCount: 7 }, loose: { totalCount: 1 } },
      groups: { totalCount: 1 },
    });
  });

  it('applies all its conditions', async () => {
    const memberOf = { id: 'CLUB' };
    expect(
      await countPeople({ memberOf, role: { is: 'MEMBER', strict: true }, search: 'en', schoolYear: '1A' }),
    ).toBe(1);
    expect(await countPeople({ memberOf, role: { is: 'OWNER' }, search: 'en', schoolYear: '1a' })).toBe(0);
  });

  it('and the order by school year regard spellings of one year as equal', async () => {
    const { up, down } = await service.read<Record<'up' | 'down', { nodes: { id: string }[] }>>(
      `{ up: users(first: 9, orderBy: {field: SCHOOL_YEAR}) { nodes { id } }
         down: users(first: 9, orderBy: {field: SCHOOL_YEAR, direction: DESC}) { nodes { id } } }`,
      { authorization },
    );
    const ordered = ['cleo', 'anna', 'ben', 'other3', 'other0', 'other1', 'other2'];
    expect(up.nodes.map(({ id }) => id)).toEqual(ordered);
    expect(down.nodes.map(({ id }) => id)).toEqual(ordered.reverse());
  });

  async function countPeople(filter: object | null): Promise<number> {
    const variables = { filter };
    const { users } = await service.read<{ users: { totalCount: number } }>(COUNT, {
      authorization,
      variables,
    });
    return users.totalCount;
  }
});

describe('a group', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(
      [
        { id: 'anna', name: 'Anna Åberg' },
        { id: 'ben', name: 'Ben' },
        { id: 'cleo', name: 'Cleo' },
      ],
      [
        { id: 'club', name: 'Club', members: ['anna', '@team'], owners: ['ben'] },
        { id: 'team', name: 'Team', members: ['cleo'], admins: ['anna'] },
      ],
    ),
  });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read');
  });

  it('keeps the rest of a row whose list has an invalid cursor or filter, with an error for each', async () => {
    const schoolYears = JSON.stringify(Array.from({ length: 101 }, () => '1A'));
    const { data, errors } = await service.query<{
      group: { members: { nodes: Record<string, Record<string, unknown>>[] } };
    }>(
      `{ group(group: {id: "club"}) { members(first: 10) { nodes {
        user { id stale: groups(first: 1, after: "stale") { totalCount } groups(first: 9) { totalCount } }
        group { parents(last: 1, before: "stale") { totalCount } subgroups(first: 1, after: "stale") { totalCount }
          members(first: 1, filter: {schoolYears: ${schoolYears}}) { totalCount } }
      } } } }`,
      { authorization },
    );
    const nowhere = { parents: null, subgroups: null, members: null };
    expect(data?.group.members.nodes).toEqual([
      { user: { id: 'anna', stale: null, groups: { totalCount: 2 } }, group: nowhere },
      { user: { id: 'ben', stale: null, groups: { totalCount: 1 } }, group: nowhere },
      { user: { id: 'cleo', stale: null, groups: { totalCount: 2 } }, group: nowhere },
    ]);
    const failed = errors.map(({ path, extensions }) => `${(path ?? []).join('.')} ${extensions.code}`);
    const expected = [0, 1, 2].flatMap((row) => [
      `group.members.nodes.${row}.user.stale INVALID_CURSOR`,
      `group.members.nodes.${row}.group.parents INVALID_CURSOR`,
      `group.members.nodes.${row}.group.subgroups INVALID_CURSOR`,
      `group.members.nodes.${row}.group.members BAD_USER_INPUT`,
    ]);
    expect(failed.sort()).toEqual(expected.sort());
  });

  it('has the membership of one user, from either side, with a number of statements that rows do not change', async () => {
    const role = 'role { value direct inheritedFrom { id } }';
    const read = async (query: string) => {
      let data: unknown;
      const statements = await statementsOf(async () => {
        data = await service.read(query, { authorization });
      });
      return { data, statements: statements.length };
    };
    expect(
      (
        await read(
          `{ group(group: {id: "club"}) { membership(user: {id: "CLEO"}) { user { id } group { id } ${role} } } }`,
        )
      ).data,
    ).toEqual({
      group: {
        membership: {
          user: { id: 'cleo' },
          group: { id: 'club' },
          role: { value: 'MEMBER', direct: null, inheritedFrom: [{ id: 'team' }] },
        },
      },
    });
    const rows = (first: number) =>
      read(
        `{ groups(first: ${first}) { nodes { id membership(user: {id: "ben"}) { user { name } role { value } } } } }`,
      );
    const [one, both] = [await rows(1), await rows(2)];
    expect(both.data).toEqual({
      groups: {
        nodes: [
          { id: 'club', membership: { user: { name: 'Ben' }, role: { value: 'OWNER' } } },
          { id: 'team', membership: null },
        ],
      },
    });
    expect(both.statements).toBe(one.statements);
    const members = (first: number) =>
      read(
        `{ group(group: {id: "club"}) { members(first: ${first}) { nodes { user { id membership(group: {id: "team"}) { user { name } group { name } role { value } } } } } } }`,
      );
    const [single, all] = [await members(1), await members(3)];
    const team = (name: string, value: string) => ({
      user: { name },
      group: { name: 'Team' },
      role: { value },
    });
    expect(all.data).toEqual({
      group: {
        members: {
          nodes: [
            { user: { id: 'anna', membership: team('Anna Åberg', 'ADMIN') } },
            { user: { id: 'ben', membership: null } },
            { user: { id: 'cleo', membership: team('Cleo', 'MEMBER') } },
          ],
        },
      },
    });
    expect(all.statements).toBe(single.statements);
  });

  it.each([
    ['{ group(group: {id: "club"}) { id membership(user: {id: "absent"}) { role { value } } } }', 'group'],
    ['{ user(user: {id: "ben"}) { id membership(group: {id: "absent"}) { role { value } } } }', 'user'],
  ])('is not a group without a member because one of them does not exist: %s', async (query, root) => {
    const { data, errors } = await service.query<Record<string, object>>(query, { authorization });
    expect(data?.[root]).toMatchObject({ membership: null });
    expect(errors).toMatchObject([{ path: [root, 'membership'], extensions: { code: 'NOT_FOUND' } }]);
  });

  it('counts each membership of a row as a node, and shows it in previews', async () => {
    const { rateLimit } = await service.read<{ rateLimit: { nodeCount: number } }>(
      '{ rateLimit(dryRun: true) { nodeCount } groups(first: 10) { nodes { membership(user: {id: "ben"}) { role { value } } } } }',
      { authorization },
    );
    expect(rateLimit.nodeCount).toBe(20);
    const writer = await service.serviceAccount('read', 'directory', 'write');
    const data = await service.read(
      `mutation { addGroupMember(input: {user: {id: "ben"}, group: {id: "team"}, role: ADMIN}) { membership {
        group { membership(user: {id: "ben"}) { role { value } } }
        user { membership(group: {id: "club"}) { role { direct } } } } } }`,
      { authorization: writer },
    );
    expect(data).toEqual({
      addGroupMember: {
        membership: {
          group: { membership: { role: { value: 'ADMIN' } } },
          user: { membership: { role: { direct: 'OWNER' } } },
        },
      },
    });
  });

  it('has direct members and members of inner groups, with the origin of their roles', async () => {
    const data = await service.read(
      `{ group(group: {id: "CLUB"}) { id members(first: 10) { totalCount nodes {
        user { id } role { value direct inheritedFrom { id } } } } } }`,
      { authorization },
    );
    expect(data).toEqual({
      group: {
        id: 'club',
        members: {
          totalCount: 3,
          nodes: [
            { user: { id: 'anna' }, role: { value: 'MEMBER', direct: 'MEMBER', inheritedFrom: [] } },
            { user: { id: 'ben' }, role: { value: 'OWNER', direct: 'OWNER', inheritedFrom: [] } },
            {
              user: { id: 'cleo' },
              role: { value: 'MEMBER', direct: null, inheritedFrom: [{ id: 'team' }] },
            },
          ],
        },
      },
    });
  });
});

const COUNT = 'query ($filter: UserFilter) { users(first: 1, filter: $filter) { totalCount } }';
