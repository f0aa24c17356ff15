import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

describe('a filter', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(
      [
        { id: 'anna', name: 'Anna', schoolYear: '1A' },
        { id: 'ben', name: 'Ben', schoolYear: '1a' },
        { id: 'cleo', name: 'Cleo' },
      ],
      [{ id: 'club', name: 'Club', members: ['anna', 'ben', 'cleo'], owners: ['anna'] }],
    ),
  });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
  });

  it.each([
    { updatedSince: '0000-01-01T00:00:00Z', people: 3 },
    { updatedSince: '0001-01-01T00:00:00+14:00', people: 3 },
    { updatedSince: '2020-02-29T23:59:59.999-12:00', people: 3 },
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
    ['1A', 1],
    ['1a', 1],
    ['1', 0],
    ['', 0],
    ['%', 0],
    ['1A\0', 0],
    ['\ud800', 0],
    ['x'.repeat(10_000), 0],
  ])('by school year compares the exact text: %j', async (schoolYear, people) => {
    expect(await countPeople({ schoolYear })).toBe(people);
    const { data } = await service.query<{ group: { members: { totalCount: number } } }>(
      'query ($filter: UserMemberFilter) { group(group: {id: "club"}) { members(first: 1, filter: $filter) { totalCount } } }',
      { authorization, variables: { filter: { schoolYear } } },
    );
    expect(data?.group.members.totalCount).toBe(people);
  });

  it('that is null, in whole or in part, has no effect', async () => {
    const nothing = { search: null, schoolYear: null, memberOf: null, role: null, updatedSince: null };
    for (const filter of [null, {}, nothing]) expect(await countPeople(filter)).toBe(3);
    const data = await service.read(
      `{ group(group: {id: "club"}) { all: members(first: 1, filter: {role: null, origin: null, search: null, schoolYear: null}, orderBy: null) { totalCount }
           loose: members(first: 1, filter: {role: {is: OWNER, strict: null}}) { totalCount } }
         groups(first: 1, filter: {search: null, parent: null, hasMember: null, role: null}, orderBy: null) { totalCount } }`,
      { authorization },
    );
    expect(data).toEqual({
      group: { all: { totalCount: 3 }, loose: { totalCount: 1 } },
      groups: { totalCount: 1 },
    });
  });

  it('applies all its conditions', async () => {
    const memberOf = { id: 'CLUB' };
    expect(
      await countPeople({ memberOf, role: { is: 'MEMBER', strict: true }, search: 'en', schoolYear: '1a' }),
    ).toBe(1);
    expect(await countPeople({ memberOf, role: { is: 'OWNER' }, search: 'en', schoolYear: '1a' })).toBe(0);
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
