import { buildLdif } from '../support/builders/directory.js';
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
  ])('by the time of a change accepts every instant: %j', async ({ updatedSince, people }) =>
    expect(await countPeople({ updatedSince })).toBe(people),
  );

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

  async function countPeople(filter: object | null): Promise<number> {
    const variables = { filter };
    const { users } = await service.read<{ users: { totalCount: number } }>(COUNT, {
      authorization,
      variables,
    });
    return users.totalCount;
  }
});

const COUNT = 'query ($filter: UserFilter) { users(first: 1, filter: $filter) { totalCount } }';
