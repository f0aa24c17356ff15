import { nodeIdOf } from '../../src/common/identity.js';
import { buildLdif } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { TestService } from '../support/servers/service.js';

const [ANNA = '', BEN = '', CLUB = '', TEAM = ''] = [1, 2, 3, 4].map(
  (digit) => `00000000-0000-4000-8000-00000000000${digit}`,
);

/** Cleo and Dora share an address, and the account of Emil is disabled. */
const LDIF = buildLdif(
  [
    { id: 'anna', name: 'Anna', email: 'Anna@Example.org', uuid: ANNA, schoolYear: '1A' },
    { id: 'Ben', name: 'Ben', uuid: BEN, schoolYear: '1A' },
    { id: 'cleo', name: 'Cleo', email: 'office@example.org' },
    { id: 'dora', name: 'Dora', email: 'OFFICE@example.org' },
    { id: 'emil', name: 'Emil', email: 'émil@example.org', familyName: 'gone' },
  ],
  [
    { id: 'club', name: 'Club', members: ['anna', '@team'], owners: ['Ben'], uuid: CLUB },
    { id: 'team', name: 'Team', members: ['cleo'], uuid: TEAM },
  ],
);

const ANNA_AGAIN = [
  { id: 'ANNA' },
  { email: 'anna@example.ORG' },
  { email: 'Anna@Example.org' },
  { nodeId: nodeIdOf('User', ANNA) },
];
const CLUB_AGAIN = [{ id: 'CLUB' }, { nodeId: nodeIdOf('Group', CLUB) }];

describe('an input that identifies an object', () => {
  const service = TestService.forSuite(() => ({
    ldif: LDIF,
    logged: true,
    environment: modelSetting('users:\n  disabled: (sn=gone)\n'),
  }));
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory', 'write');
  });

  const read = (query: string, variables: object = {}) =>
    service.read(query, { authorization, variables: { ...variables } });

  it.each(ANNA_AGAIN)('finds a user by %j, wherever it is used', async (user) => {
    const data = await read(
      `query ($user: UserInput!) {
        user(user: $user) { id groups(first: 5) { totalCount } }
        plain: user(user: $user) { name }
        isMember(user: $user, group: {id: "club"})
        groups(first: 5, filter: {hasMember: $user}) { totalCount nodes { id } }
        changes(first: 5, filter: {user: $user, kinds: [USER_CREATED]}) { nodes { userId } }
      }`,
      { user },
    );
    expect(data).toEqual({
      user: { id: 'anna', groups: { totalCount: 1 } },
      plain: { name: 'Anna' },
      isMember: true,
      groups: { totalCount: 1, nodes: [{ id: 'club' }] },
      changes: { nodes: [{ userId: 'anna' }] },
    });
    const preview = await read(
      `mutation ($user: UserInput!) {
        updateUser(input: {user: $user, name: "Anne"}) { user { id name } preview { ldif } }
        addGroupMember(input: {user: $user, group: {id: "team"}}) { membership { user { id } } } }`,
      { user },
    );
    expect(preview).toMatchObject({
      updateUser: {
        user: { id: 'anna', name: 'Anne' },
        preview: { ldif: expect.stringContaining('dn: uid=anna,') as string },
      },
      addGroupMember: { membership: { user: { id: 'anna' } } },
    });
  });

  it.each(CLUB_AGAIN)('finds a group by %j, wherever it is used', async (group) => {
    const data = await read(
      `query ($group: GroupInput!) {
        group(group: $group) { id members(first: 5) { totalCount } }
        isMember(user: {id: "cleo"}, group: $group)
        groups(first: 5, filter: {parent: $group}) { nodes { id } }
        users(first: 5, filter: {memberOf: $group, role: {is: OWNER}}) { nodes { id } }
        changes(first: 5, filter: {group: $group, kinds: [GROUP_CREATED]}) { nodes { groupId } }
      }`,
      { group },
    );
    expect(data).toEqual({
      group: { id: 'club', members: { totalCount: 3 } },
      isMember: true,
      groups: { nodes: [{ id: 'team' }] },
      users: { nodes: [{ id: 'Ben' }] },
      changes: { nodes: [{ groupId: 'club' }] },
    });
    const preview = await read(
      `mutation ($group: GroupInput!) {
        updateGroup(input: {group: $group, name: "Chess"}) { group { name } }
        createGroup(input: {id: "new", name: "New", parent: $group}) { group { parents(first: 1) { nodes { id } } } }
        deleteGroup(input: {group: $group}) { deletedGroupId } }`,
      { group },
    );
    expect(preview).toEqual({
      updateGroup: { group: { name: 'Chess' } },
      createGroup: { group: { parents: { nodes: [{ id: 'club' }] } } },
      deleteGroup: { deletedGroupId: 'club' },
    });
  });

  it.each([
    { email: 'office@example.org' },
    { email: 'nobody@example.org' },
    { email: '' },
    { email: '%' },
    { email: 'anna@example.org\0' },
    { email: '\ud800' },
    { email: 'x'.repeat(10_000) },
    { email: 'ÉMIL@example.org' },
    { email: ' anna@example.org' },
    { nodeId: nodeIdOf('Group', ANNA) },
    { nodeId: nodeIdOf('Profile', ANNA) },
    { nodeId: nodeIdOf('User', CLUB) },
    { nodeId: `${nodeIdOf('User', ANNA)}=` },
    { nodeId: ANNA },
    { nodeId: 'x'.repeat(10_000) },
    { nodeId: '\0' },
    { id: nodeIdOf('User', ANNA) },
    { id: 'anna@example.org' },
  ])('finds no user by another identity (%#)', async (user) => {
    const { data, errors } = await service.query(
      `query ($user: UserInput!) { user(user: $user) { id } isMember(user: $user, group: {id: "club"})
        groups(first: 1, filter: {hasMember: $user}) { totalCount } changes(first: 1, filter: {user: $user}) { totalCount } }`,
      { authorization, variables: { user } },
    );
    expect(data).toEqual({ user: null, isMember: null, groups: null, changes: null });
    expect(errors.map(({ extensions: { code, argument } }) => [code, argument])).toEqual(
      expect.arrayContaining([
        ['NOT_FOUND', 'user'],
        ['NOT_FOUND', 'hasMember'],
      ]),
    );
    expect(errors).toHaveLength(4);
  });

  it('of the profile alone names only oneself in a preview', async () => {
    const own = await service.accessToken('profile write', 'demo-basic');
    const ada = (member: string) =>
      `mutation { removeGroupMember(input: {user: {${member}}, group: {id: "club"}}) { clientMutationId } }`;
    const codes = new Set<string>();
    for (const member of [
      'email: "anna@example.org"',
      'email: "nobody@example.org"',
      `nodeId: "${nodeIdOf('User', ANNA)}"`,
      `nodeId: "${nodeIdOf('User', TEAM)}"`,
    ]) {
      const { errors } = await service.query(ada(member), { authorization: own });
      codes.add(JSON.stringify(errors.map(({ message, extensions: { code } }) => [code, message])));
    }
    expect(codes.size).toBe(1);
  });

  async function find(filter: object): Promise<string[]> {
    const { users } = await service.read<{ users: { totalCount: number; nodes: { id: string }[] } }>(
      'query ($filter: UserFilter) { users(first: 100, filter: $filter) { totalCount nodes { id } } }',
      { authorization, variables: { filter } },
    );
    expect(users.totalCount).toBe(users.nodes.length);
    return users.nodes.map(({ id }) => id);
  }

  it.each<[object, string[]]>([
    [{ ids: ['ANNA', 'anna', 'ben', 'nobody', '', '\0', '\ud800', 'x'.repeat(1000)] }, ['anna', 'Ben']],
    [{ ids: [] }, []],
    [{ ids: null, emails: null, active: null }, ['anna', 'Ben', 'cleo', 'dora', 'emil']],
    [{ emails: ['office@example.org', 'ANNA@example.org', 'nobody'] }, ['anna', 'cleo', 'dora']],
    [{ emails: [] }, []],
    [{ ids: ['anna', 'cleo'], emails: ['office@example.org'] }, ['cleo']],
    [{ ids: ['anna', 'Ben', 'cleo'], search: 'an' }, ['anna']],
    [{ ids: ['anna', 'Ben', 'cleo'], schoolYear: '1A' }, ['anna', 'Ben']],
    [{ ids: ['anna', 'Ben', 'emil'], memberOf: { id: 'club' } }, ['anna', 'Ben']],
    [{ emails: ['office@example.org'], memberOf: { id: 'club' } }, ['cleo']],
    [{ active: true }, ['anna', 'Ben', 'cleo', 'dora']],
    [{ active: false }, ['emil']],
    [{ active: false, ids: ['anna', 'emil'] }, ['emil']],
    [{ active: true, memberOf: { id: 'club' }, role: { is: 'MEMBER', strict: true } }, ['anna', 'cleo']],
  ])('is part of a filter, which finds those for whom all parts hold (%#)', async (filter, expected) =>
    expect(await find(filter)).toEqual(expected),
  );
});
