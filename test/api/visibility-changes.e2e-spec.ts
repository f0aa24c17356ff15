import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { TEST_RULES } from '../support/builders/visibility-model.js';
import { writeClients } from '../support/clients/clients.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const VIEWERS = ['vera', 'mia', 'olaf'];

interface Log {
  readonly totalCount: number;
  readonly nodes: { id: string; kind: string; userId: string | null; groupId: string | null }[];
}

describe('changes of what is hidden', () => {
  const service = TestService.forSuite(() => ({
    visibility: TEST_RULES,
    environment: {
      AUTH_EMBEDDED_CLIENTS: writeClients(VIEWERS.map((id) => ({ id: `${id}-app`, owner: id }))),
      DIRECTORY_SYNC_SECONDS: '3600',
      DIRECTORY_GUARD_PERCENT: '100',
    },
  }));
  const tokens = new Map<string, string>();
  /** The id of the last change that a viewer has read. */
  const lastIds = new Map<string, string>();

  beforeAll(async () => {
    await stopFollowing(service);
    for (const id of VIEWERS) tokens.set(id, await service.accessToken('read directory', `${id}-app`));
    tokens.set('machine', await service.serviceAccount('read', 'directory'));
    tokens.set('confidant', await service.serviceAccount('read', 'directory', 'profile'));
  });

  const PEOPLE: TestPerson[] = VIEWERS.map((id) => ({ id }));

  async function apply(people: TestPerson[], groups: TestGroup[]): Promise<void> {
    service.replaceDirectory(buildLdif([...PEOPLE, ...people], groups));
    await service.synchronize();
  }

  async function read(who: string, filter = ''): Promise<Log> {
    const { changes } = await service.read<{ changes: Log }>(
      `{ changes(first: 100, filter: {${filter}}) { totalCount nodes { id kind userId groupId } } }`,
      { authorization: tokens.get(who) ?? '' },
    );
    return changes;
  }

  /** What is new for a viewer. The total is that of the whole log of the viewer. */
  async function news(who: string): Promise<string[]> {
    const { totalCount, nodes } = await read(who);
    expect(totalCount).toBe(nodes.length);
    const seen = nodes.findIndex(({ id }) => id === lastIds.get(who));
    lastIds.set(who, nodes.at(-1)?.id ?? '');
    return nodes
      .slice(seen + 1)
      .map(({ kind, userId, groupId }) => [kind, userId, groupId].filter((part) => part !== null).join(' '));
  }

  async function newsOfAll(): Promise<Record<string, string[]>> {
    const all: Record<string, string[]> = {};
    for (const who of tokens.keys()) all[who] = await news(who);
    return all;
  }

  const CLUB: TestGroup = { id: 'club', members: ['anna', 'mia'], admins: ['vera'] };

  it('are a deletion for those outside and an update for those inside', async () => {
    await apply([{ id: 'anna' }], [CLUB]);
    await newsOfAll();
    const deleted = ['USER_DELETED anna'];
    const updated = ['USER_UPDATED anna'];
    await apply([{ id: 'anna', familyName: 'hidden' }], [CLUB]);
    expect(await newsOfAll()).toEqual({
      vera: updated,
      mia: deleted,
      olaf: deleted,
      machine: deleted,
      confidant: updated,
    });
    await apply([{ id: 'anna', familyName: 'hidden', email: 'anna@example.org' }], [CLUB]);
    expect(await newsOfAll()).toEqual({ vera: updated, mia: [], olaf: [], machine: [], confidant: updated });
    const created = ['USER_CREATED anna'];
    await apply([{ id: 'anna' }], [CLUB]);
    expect(await newsOfAll()).toEqual({
      vera: updated,
      mia: created,
      olaf: created,
      machine: created,
      confidant: updated,
    });
  });

  it('stay hidden after the deletion of what was hidden', async () => {
    await apply([{ id: 'anna', familyName: 'hidden' }], [CLUB]);
    await newsOfAll();
    await apply([], [CLUB]);
    const gone = ['MEMBER_REMOVED anna club', 'USER_DELETED anna'];
    expect(await newsOfAll()).toEqual({ vera: gone, mia: [], olaf: [], machine: [], confidant: gone });
    // No user is hidden any more, but the log still has rows that not every viewer sees.
    const { nodes } = await read('machine', 'kinds: [MEMBER_REMOVED]');
    expect(nodes).toEqual([]);
  });

  it('of a hidden group and of hidden members are seen by their audiences', async () => {
    const secret: TestGroup = { id: 'choir', members: ['mia'], admins: ['vera'] };
    await apply([], [CLUB, secret]);
    await newsOfAll();
    await apply([], [CLUB, { ...secret, description: 'secret of admins' }]);
    expect(await newsOfAll()).toEqual({
      vera: ['GROUP_UPDATED choir'],
      mia: ['GROUP_DELETED choir'],
      olaf: ['GROUP_DELETED choir'],
      machine: ['GROUP_DELETED choir'],
      confidant: ['GROUP_UPDATED choir'],
    });
    await apply([], [CLUB, { ...secret, description: 'private' }]);
    await newsOfAll();
    await apply([], [CLUB, { ...secret, members: ['mia', 'olaf'], description: 'private' }]);
    const joined = ['MEMBER_ADDED olaf choir'];
    expect(await newsOfAll()).toEqual({
      vera: joined,
      mia: joined,
      olaf: joined,
      machine: [],
      confidant: joined,
    });
    await apply([], [CLUB, { ...secret, description: 'secret, private' }]);
    await newsOfAll();
    await apply([], [CLUB]);
    const removed = ['MEMBER_REMOVED vera choir', 'MEMBER_REMOVED mia choir', 'GROUP_DELETED choir'];
    const all = await newsOfAll();
    expect(all['vera']).toEqual(expect.arrayContaining(removed));
    expect(all['mia']).toEqual(all['vera']);
    expect(all['confidant']).toEqual(all['vera']);
    expect(all['machine']).toEqual([]);
  });

  it('are not found by the id of a hidden user', async () => {
    await apply([{ id: 'zoe', familyName: 'hidden' }], [CLUB]);
    const sendRequest = (who: string, id: string) =>
      service.query(`{ changes(first: 5, filter: {user: {id: "${id}"}}) { totalCount } }`, {
        authorization: tokens.get(who) ?? '',
      });
    const hidden = await sendRequest('olaf', 'zoe');
    const absent = await sendRequest('olaf', 'nobody');
    expect(hidden.errors.map(({ message, extensions }) => [message, extensions.code])).toEqual(
      absent.errors.map(({ message, extensions }) => [message, extensions.code]),
    );
    expect(hidden.errors).toHaveLength(1);
    expect((await sendRequest('confidant', 'zoe')).data).toEqual({ changes: { totalCount: 1 } });
  });
});
