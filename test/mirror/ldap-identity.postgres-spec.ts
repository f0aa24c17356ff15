import { BASE_DN, buildLdif, personDn } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { eventually } from '../support/eventually.js';
import { FollowedDirectory } from '../support/servers/ldap.js';

interface Found {
  readonly nodeId: string;
  readonly id: string;
  readonly active: boolean;
}

describe('in a directory that is followed', () => {
  let directory: FollowedDirectory;
  let authorization: string;

  beforeAll(async () => {
    directory = await FollowedDirectory.start(
      {
        ldif: buildLdif(
          [{ id: 'anna', email: 'anna@example.org' }, { id: 'ben' }],
          [{ id: 'club', members: ['anna'] }],
        ),
        syncprov: true,
      },
      // The filter tests an attribute that no field has.
      modelSetting('users:\n  disabled: (employeeType=former)\n'),
    );
    authorization = await directory.service.serviceAccount('read', 'directory');
  });

  afterAll(() => directory.stop());

  async function userBy(input: object): Promise<Found | null> {
    const { data } = await directory.service.query<{ user: Found | null }>(
      'query ($user: UserInput!) { user(user: $user) { nodeId id active } }',
      { authorization, variables: { user: input } },
    );
    return data?.user ?? null;
  }

  async function nodeOf(nodeId: string): Promise<Found | null> {
    const { node } = await directory.service.read<{ node: Found | null }>(
      'query ($nodeId: ID!) { node(nodeId: $nodeId) { nodeId ... on User { id active } } }',
      { authorization, variables: { nodeId } },
    );
    return node;
  }

  it('a node id and an address lead to the same user after a rename, and the old id to none', async () => {
    const anna = await userBy({ id: 'anna' });
    if (anna === null) throw new Error('There is no such user');
    await directory.change(
      `dn: ${personDn('anna')}\nchangetype: moddn\nnewrdn: uid=annika\ndeleteoldrdn: 1\nnewsuperior: ou=people,${BASE_DN}\n`,
    );
    await eventually(async () => (await nodeOf(anna.nodeId))?.id, 'annika');
    expect(await nodeOf(anna.nodeId)).toEqual({ ...anna, id: 'annika' });
    expect(await userBy({ nodeId: anna.nodeId })).toEqual({ ...anna, id: 'annika' });
    expect(await userBy({ email: 'ANNA@example.org' })).toEqual({ ...anna, id: 'annika' });
    expect(await userBy({ id: 'anna' })).toBeNull();
    const { changes } = await directory.service.read<{ changes: { nodes: object[] } }>(
      'query ($nodeId: ID!) { changes(last: 1, filter: {user: {nodeId: $nodeId}, kinds: [USER_UPDATED]}) { nodes { userNodeId previousId } } }',
      { authorization, variables: { nodeId: anna.nodeId } },
    );
    expect(changes.nodes).toEqual([{ userNodeId: anna.nodeId, previousId: 'anna' }]);
  });

  it('an account that is disabled is no longer active, which is an update of the user', async () => {
    const ben = await userBy({ id: 'ben' });
    expect(ben?.active).toBe(true);
    const set = (lines: string) => directory.change(`dn: ${personDn('ben')}\nchangetype: modify\n${lines}`);
    await set('add: employeeType\nemployeeType: former\n');
    await eventually(async () => (await userBy({ id: 'ben' }))?.active, false);
    expect(await nodeOf(ben?.nodeId ?? '')).toEqual({ ...ben, active: false });
    await set('delete: employeeType\n');
    await eventually(async () => (await userBy({ id: 'ben' }))?.active, true);
    const { changes } = await directory.service.read<{ changes: { nodes: object[] } }>(
      '{ changes(first: 9, filter: {user: {id: "ben"}}) { nodes { kind } } }',
      { authorization },
    );
    expect(changes.nodes).toEqual(['USER_UPDATED', 'USER_UPDATED'].map((kind) => ({ kind })));
  });

  it('changes of a deleted user are found by the node id, and not by the address', async () => {
    const ben = await userBy({ id: 'ben' });
    const nodeId = ben?.nodeId ?? '';
    await directory.change(`dn: ${personDn('ben')}\nchangetype: delete\n`);
    await eventually(() => nodeOf(nodeId), null);
    const { changes } = await directory.service.read<{ changes: { nodes: object[] } }>(
      'query ($nodeId: ID!) { changes(last: 1, filter: {user: {nodeId: $nodeId}}) { nodes { kind userNodeId } } }',
      { authorization, variables: { nodeId } },
    );
    expect(changes.nodes).toEqual([{ kind: 'USER_DELETED', userNodeId: nodeId }]);
  });
});
