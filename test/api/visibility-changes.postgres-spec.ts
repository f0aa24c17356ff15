import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { TEST_RULES } from '../support/builders/visibility-rules.js';
import { EventStream } from '../support/clients/event-stream.js';
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
  /** A stream of each viewer, which has what GraphQL returns. */
  const streams = new Map<string, EventStream>();
  /** The ids of the changes that a viewer has read. */
  const readIds = new Map<string, Set<string>>();

  beforeAll(async () => {
    await stopFollowing(service);
    for (const id of VIEWERS) tokens.set(id, await service.accessToken('read directory', `${id}-app`));
    tokens.set('machine', await service.serviceAccount('read', 'directory'));
    tokens.set('confidant', await service.serviceAccount('read', 'directory', 'confidential'));
    for (const [who, authorization] of tokens) {
      const stream = await EventStream.open(service.url, '', { authorization });
      streams.set(who, await stream.begun());
    }
  });

  afterAll(() => {
    for (const stream of streams.values()) stream.close();
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
    const known = readIds.get(who);
    readIds.set(who, new Set([...(known ?? []), ...nodes.map(({ id }) => id)]));
    const fresh = nodes.filter(({ id }) => known?.has(id) !== true);
    expect(await streamed(who, fresh.length)).toEqual(fresh.map(({ id }) => id));
    return fresh.map(({ kind, userId, groupId }) =>
      [kind, userId, groupId].filter((part) => part !== null).join(' '),
    );
  }

  /** The ids of the next changes in the stream of a viewer. */
  async function streamed(who: string, count: number): Promise<string[]> {
    const stream = streams.get(who);
    await stream?.receive(count);
    return stream?.events.splice(0).map(({ data }) => data.id) ?? [];
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

  it('of members do not show former ones when the group, its members or a user become visible', async () => {
    const choir: TestGroup = { id: 'choir', members: ['mia', 'nina', 'olaf'], admins: ['vera'] };
    const withYara = { ...CLUB, members: ['anna', 'mia', 'yara'] };
    const hidden = [{ id: 'yara', familyName: 'hidden' }, { id: 'nina' }];
    await apply(hidden, [withYara, { ...choir, description: 'private' }]);
    await newsOfAll();
    const open = { ...choir, members: ['mia'], admins: ['vera', 'olaf'] };
    await apply([{ id: 'yara' }, { id: 'nina' }], [CLUB, open]);
    const { machine = [], confidant = [] } = await newsOfAll();
    expect([...machine].sort()).toEqual(['GROUP_UPDATED choir', 'USER_CREATED yara']);
    const former = ['MEMBER_REMOVED yara club', 'MEMBER_REMOVED nina choir', 'ROLE_CHANGED olaf choir'];
    expect(confidant).toEqual(expect.arrayContaining(former));
  });
});
