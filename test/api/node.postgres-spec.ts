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
        { id: OWNER, name: 'Anna', email: 'anna@example.org', uuid: ANNA },
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

  it('of 100 objects is read by one statement', async () => {
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

  it('is not read without a token', async () => {
    const { status, errors } = await service.query(`{ node(nodeId: "${nodeIdOf('User', BEN)}") { nodeId } }`);
    expect([status, errors[0]?.extensions.code]).toEqual([401, 'UNAUTHENTICATED']);
  });
});
