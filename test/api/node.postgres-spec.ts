import { statementsOf } from '../support/builders/statements.js';
import { nodeIdOf, type NodeType } from '../../src/common/identity.js';
import { writeClients } from '../support/clients/clients.js';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

/** Of Anna, Ben and the club, in this order. The client `demo-basic` acts for the first. */
const UUIDS = [1, 2, 3].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`);
/** Of a user and a group outside the club. */
const ZOE = '00000000-0000-4000-8000-000000000004';
const ZOO = '00000000-0000-4000-8000-000000000005';
const [ANNA = '', BEN = '', CLUB = ''] = UUIDS;
const OWNER = 'ada.martin';
const UNKNOWN = '00000000-0000-4000-8000-0000000000ff';

const NODES = `query ($nodeIds: [ID!]!) { nodes(nodeIds: $nodeIds) {
  __typename nodeId ... on User { id createdAt } ... on Profile { id user { id } } ... on Group { id updatedAt } } }`;

interface FoundNode {
  readonly __typename: NodeType;
  readonly nodeId: string;
  readonly id: string;
}

describe('a node id', () => {
  const service = TestService.forSuite({
    logged: true,
    environment: { AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'client', owner: OWNER }]) },
    ldif: buildLdif(
      [
        { id: OWNER, name: 'Anna', givenName: 'A', email: 'anna@example.org', schoolYear: '1A', uuid: ANNA },
        { id: 'ben', name: 'Ben', uuid: BEN },
        { id: 'zoe', name: 'Zoe', uuid: ZOE },
      ],
      [
        { id: 'club', name: 'Club', members: [OWNER, 'ben'], uuid: CLUB },
        { id: 'zoo', name: 'Zoo', members: ['zoe'], uuid: ZOO },
      ],
    ),
  });
  let account: string;
  let person: string;

  beforeAll(async () => {
    account = await service.serviceAccount('read', 'directory');
    person = await service.accessToken('profile read directory', 'client');
  });

  async function nodesOf(nodeIds: readonly string[], authorization = person): Promise<(FoundNode | null)[]> {
    const data = await service.read<{ nodes: (FoundNode | null)[] }>(NODES, {
      authorization,
      variables: { nodeIds },
    });
    return data.nodes;
  }

  it('is the same wherever the object is', async () => {
    const query = `{
      user(user: {id: "ben"}) { nodeId groups(first: 1) { nodes { user { nodeId } group { nodeId } } } }
      users(first: 2) { nodes { nodeId } }
      group(group: {id: "club"}) { nodeId members(first: 2) { nodes { user { nodeId } } } }
      groups(first: 1) { nodes { nodeId } }
      search(query: "ben", first: 1) { nodes { ... on Node { nodeId } } }
      changes(first: 9) { nodes { userNodeId groupNodeId user { nodeId } group { nodeId } } }
    }`;
    const text = JSON.stringify(await service.read(query, { authorization: account }));
    const found = new Set([...text.matchAll(/odeId":"([^"]+)"/g)].map(([, nodeId]) => nodeId));
    expect([...found].sort()).toEqual(
      [
        ...[ANNA, BEN, ZOE].map((uuid) => nodeIdOf('User', uuid)),
        ...[CLUB, ZOO].map((uuid) => nodeIdOf('Group', uuid)),
      ].sort(),
    );
    const changes = await service.read<{ changes: { nodes: Record<string, unknown>[] } }>(query, {
      authorization: account,
    });
    for (const { userNodeId, user } of changes.changes.nodes)
      if (userNodeId !== null) expect(user).toEqual({ nodeId: userNodeId });
  });

  it('leads to the object, in the order of the argument and as often as it is given', async () => {
    const [ben, club, profile, anna] = [
      nodeIdOf('User', BEN),
      nodeIdOf('Group', CLUB),
      nodeIdOf('Profile', ANNA),
      nodeIdOf('User', ANNA),
    ];
    const expected = [
      { __typename: 'Group', nodeId: club, id: 'club', updatedAt: expect.any(String) as string },
      { __typename: 'User', nodeId: ben, id: 'ben', createdAt: expect.any(String) as string },
      null,
      { __typename: 'Profile', nodeId: profile, id: OWNER, user: { id: OWNER } },
      { __typename: 'User', nodeId: anna, id: OWNER, createdAt: expect.any(String) as string },
      { __typename: 'User', nodeId: ben, id: 'ben', createdAt: expect.any(String) as string },
    ];
    expect(await nodesOf([club, ben, nodeIdOf('User', UNKNOWN), profile, anna, ben])).toEqual(expected);
    const one = await service.read(`{ node(nodeId: "${profile}") { nodeId ... on Person { name email } } }`, {
      authorization: person,
    });
    expect(one).toEqual({ node: { nodeId: profile, name: 'Anna', email: 'anna@example.org' } });
  });

  it('has the values that the query of its type has', async () => {
    const fields = 'id name givenName familyName email schoolYear createdAt updatedAt photo';
    const groupFields =
      'id name description website email createdAt updatedAt members(first: 2) { totalCount }';
    const data = await service.read(
      `{ user(user: {id: "ben"}) { ${fields} } again: node(nodeId: "${nodeIdOf('User', BEN)}") { ... on User { ${fields} } }
         group(group: {id: "club"}) { ${groupFields} }
         groupAgain: node(nodeId: "${nodeIdOf('Group', CLUB)}") { ... on Group { ${groupFields} } } }`,
      { authorization: account },
    );
    expect([data['again'], data['groupAgain']]).toEqual([data['user'], data['group']]);
  });

  it('of another kind, or in another spelling, leads to nothing, without an error', async () => {
    const ben = nodeIdOf('User', BEN);
    const others = [
      '',
      'ben',
      BEN,
      `${ben}=`,
      `${ben}\0`,
      ` ${ben}`,
      ben.repeat(200),
      nodeIdOf('Group', BEN),
      nodeIdOf('User', CLUB),
      nodeIdOf('User', BEN.replace('8000', '800g')),
      nodeIdOf('User', BEN.toUpperCase().replace('4', 'A')),
      // It decodes to the same bytes: the last character has two unused bits.
      ben.slice(0, -1) + String.fromCharCode((ben.at(-1) ?? '').charCodeAt(0) + 1),
      Buffer.from(`Change:${BEN}`).toString('base64url'),
      '🎓',
    ];
    expect(await nodesOf(others)).toEqual(others.map(() => null));
  });

  it('of a profile leads to it only for the user of the token', async () => {
    const [own, other] = [nodeIdOf('Profile', ANNA), nodeIdOf('Profile', BEN)];
    expect(await nodesOf([other])).toEqual([null]);
    expect(await nodesOf([own], await service.serviceAccount('profile', 'read'))).toEqual([null]);
    expect(await nodesOf([own])).toMatchObject([{ id: OWNER }]);
    // The same request of others is not answered from what was remembered for its owner.
    expect(await nodesOf([own], await service.serviceAccount('profile', 'read', 'directory'))).toEqual([
      null,
    ]);
  });

  it.each([
    ['User', 'read', ['profile']],
    ['Group', 'read', ['profile']],
    ['Profile', 'profile', ['read']],
  ] as const)('of a %s needs the scope %s', async (type, needed, scopes) => {
    const authorization = await service.accessToken(scopes.join(' '), 'client');
    for (const uuid of [...UUIDS, UNKNOWN]) {
      const query = `query ($nodeIds: [ID!]!) { nodes(nodeIds: $nodeIds) { nodeId } }`;
      const variables = { nodeIds: [nodeIdOf(type, uuid)] };
      const { status, data, errors } = await service.query(query, { authorization, variables });
      expect({ status, data, errors }).toMatchObject({
        status: 200,
        data: { nodes: [null] },
        errors: [
          {
            path: ['nodes', 0],
            message: `A node of the type ${type} is not accessible with this token: it needs the scope ${needed}.`,
            extensions: { code: 'INSUFFICIENT_SCOPE', requiredScopes: [needed], grantedScopes: scopes },
          },
        ],
      });
    }
  });

  it('that needs another scope is null with an error in its place, and the others are returned', async () => {
    const authorization = await service.accessToken('read directory', 'client');
    const nodeIds = [
      nodeIdOf('User', BEN),
      nodeIdOf('Profile', ANNA),
      nodeIdOf('User', UNKNOWN),
      nodeIdOf('Group', CLUB),
    ];
    const answer = await service.query(NODES, { authorization, variables: { nodeIds } });
    expect(answer).toMatchObject({
      status: 200,
      data: { nodes: [{ id: 'ben' }, null, null, { id: 'club' }] },
      errors: [
        { path: ['nodes', 1], extensions: { code: 'INSUFFICIENT_SCOPE', requiredScopes: ['profile'] } },
      ],
    });
    const one = await service.query(`{ node(nodeId: "${nodeIds[1]}") { nodeId } }`, { authorization });
    expect(one).toMatchObject({
      data: { node: null },
      errors: [{ path: ['node'], extensions: { code: 'INSUFFICIENT_SCOPE' } }],
    });
  });

  it('of 100 users is read by one statement', async () => {
    const users = UUIDS.map((uuid) => nodeIdOf('User', uuid));
    const some = [nodeIdOf('User', BEN), nodeIdOf('Group', CLUB), nodeIdOf('User', UNKNOWN)];
    const nodeIds = Array.from({ length: 100 }, (_, index) => [...users, ...some][index % 4] ?? '');
    // The suite executes each operation twice, to compare the responses.
    const countOf = async (ids: string[]) => (await statementsOf(() => nodesOf(ids, account))).length;
    expect(await countOf(nodeIds)).toBe(await countOf(some.slice(0, 1)));
    // The response to the first order is cached.
    const sent = await statementsOf(() => nodesOf([...nodeIds].reverse(), account));
    expect(new Set(sent.map(({ text }) => text)).size).toBe(1);
  });

  it('is one of at most 100, which cost as much as as many rows', async () => {
    const ids = (count: number) => Array.from({ length: count }, () => nodeIdOf('User', BEN));
    const query = `query ($nodeIds: [ID!]!) { nodes(nodeIds: $nodeIds) { nodeId } rateLimit { nodeCount cost } }`;
    const sendRequest = (nodeIds: string[]) =>
      service.query<{ nodes: unknown[]; rateLimit: unknown }>(query, {
        authorization: person,
        variables: { nodeIds },
      });
    for (const count of [0, 1, 100, 2]) {
      const { data } = await sendRequest(ids(count));
      expect(data?.nodes).toHaveLength(count);
      expect(data?.rateLimit).toEqual({ nodeCount: count, cost: 1 });
    }
    const literal = ids(101)
      .map((each) => `"${each}"`)
      .join();
    for (const { status, data, errors } of [
      await sendRequest(ids(101)),
      await service.query(`{ nodes(nodeIds: [${literal}]) { nodeId } }`, { authorization: person }),
      await service.query(`{ nodes(nodeIds: [${literal}]) { nodeId } }`, { authorization: account }),
    ]) {
      expect([status, data, errors.map(({ extensions }) => extensions.code)]).toEqual([
        400,
        undefined,
        ['BAD_USER_INPUT'],
      ]);
      expect(errors[0]?.extensions).toMatchObject({ argument: 'nodeIds' });
    }
  });

  it('may be of a user or a profile: a fragment on Person serves both', async () => {
    const data = await service.read<Record<'user' | 'profile', object>>(
      `{ user(user: {id: "${OWNER}"}) { ...P } profile { ...P } }
       fragment P on Person { id name givenName email schoolYear photo groups(first: 2) { totalCount nodes { group { id } } } }`,
      { authorization: person },
    );
    expect(data.user).toEqual({
      id: OWNER,
      name: 'Anna',
      givenName: 'A',
      email: 'anna@example.org',
      schoolYear: '1A',
      photo: null,
      groups: { totalCount: 1, nodes: [{ group: { id: 'club' } }] },
    });
    expect(data.profile).toEqual(data.user);
  });
});
