import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { TEST_RULES } from '../support/builders/visibility-rules.js';
import { writeClients } from '../support/clients/clients.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

describe('changes', () => {
  const service = TestService.forSuite(() => ({
    visibility: TEST_RULES,
    environment: {
      AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'vera-app', owner: 'vera' }]),
      DIRECTORY_SYNC_SECONDS: '3600',
      DIRECTORY_GUARD_PERCENT: '100',
    },
  }));
  const tokens = new Map<string, string>();

  beforeAll(async () => {
    await stopFollowing(service);
    tokens.set('vera', await service.accessToken('read directory', 'vera-app'));
    tokens.set('machine', await service.serviceAccount('read', 'directory'));
  });

  async function apply(people: TestPerson[], groups: TestGroup[]): Promise<void> {
    service.replaceDirectory(buildLdif([{ id: 'vera' }, ...people], groups));
    await service.synchronize();
  }

  /** The changes about something that a viewer sees. */
  async function about(who: string, filter: string): Promise<string[]> {
    const { changes } = await service.read<{
      changes: { nodes: { kind: string; userId: string | null; groupId: string | null }[] };
    }>(`{ changes(first: 100, filter: {${filter}}) { nodes { kind userId groupId } } }`, {
      authorization: tokens.get(who) ?? '',
    });
    return changes.nodes.map((each) =>
      [each.kind, each.userId, each.groupId].filter((part) => part !== null).join(' '),
    );
  }

  it('from before something was hidden are hidden with it', async () => {
    const cleo = { id: 'cleo' };
    const band: TestGroup = { id: 'band', members: ['cleo'], admins: ['vera'] };
    await apply([cleo], [band]);
    await apply([{ ...cleo, email: 'cleo@example.org' }], [band]);
    const ofCleo = 'user: {id: "cleo"}';
    const all = ['USER_CREATED cleo', 'MEMBER_ADDED cleo band', 'USER_UPDATED cleo'];
    expect(await about('machine', ofCleo)).toEqual(all);
    await apply([{ ...cleo, familyName: 'hidden' }], [band]);
    expect(await about('machine', ofCleo)).toEqual(['USER_DELETED cleo']);
    expect(await about('vera', ofCleo)).toEqual([...all, 'USER_UPDATED cleo']);
    // In the list of the group, too, and after the user is visible again.
    expect(await about('machine', 'group: {id: "band"}')).not.toContain('MEMBER_ADDED cleo band');
    await apply([cleo], [band]);
    expect(await about('machine', ofCleo)).toEqual(['USER_DELETED cleo', 'USER_CREATED cleo']);
    await apply([cleo], [{ ...band, description: 'private' }]);
    await apply([cleo], [{ ...band, description: 'secret' }]);
    expect(await about('machine', 'group: {id: "band"}')).toEqual(['GROUP_DELETED band']);
  });
});
