import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildLdif, personDn, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { TEST_RULES } from '../support/builders/visibility-rules.js';
import { EventStream } from '../support/clients/event-stream.js';
import { writeClients } from '../support/clients/clients.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

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

  describe('have numbers that', () => {
    type Edges = { edges: { cursor: string; node: { id?: string } }[] };

    const edgesOf = async (authorization: string, field: string): Promise<Edges['edges']> => {
      const data = await service.read(`{ ${field} }`, { authorization });
      let value: unknown = data;
      while (!(value as Partial<Edges>).edges) value = Object.values(value as object)[0];
      return (value as Edges).edges;
    };
    const partsOf = (cursor: string) => JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    const forge = (parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url');
    const SEALED = /^[\w-]{22}$/;
    const EDGES = 'edges { cursor node { __typename } }';
    const LISTS: Record<string, (page: string) => string> = {
      users: (page) => `users(${page}) { ${EDGES} }`,
      groups: (page) => `groups(${page}, orderBy: {field: MEMBER_COUNT}) { ${EDGES} }`,
      members: (page) => `group(group: {id: "club"}) { members(${page}) { ${EDGES} } }`,
      memberships: (page) =>
        `user(user: {id: "mia"}) { groups(${page}, orderBy: {field: ROLE}) { ${EDGES} } }`,
      search: (page) => `search(query: "mia", ${page}) { ${EDGES} }`,
      changes: (page) => `changes(${page}) { edges { cursor node { id } } }`,
    };

    it.each(Object.keys(LISTS))('no cursor discloses, and no client chooses: %s', async (name) => {
      await apply([{ id: 'anna', familyName: 'hidden' }], [CLUB]);
      const authorization = tokens.get('olaf') ?? '';
      const list = LISTS[name] ?? String;
      const edges = await edgesOf(authorization, list('first: 20'));
      expect(edges.length).toBeGreaterThan(0);
      const place = name === 'changes' ? -2 : -1;
      for (const { cursor, node } of edges) {
        const parts = partsOf(cursor);
        expect(parts.at(place)).toMatch(SEALED);
        if (node.id !== undefined) expect(node.id).toMatch(SEALED);
        const { errors } = await service.query(`{ ${list(`first: 1, after: "${cursor}"`)} }`, {
          authorization,
        });
        expect(errors).toEqual([]);
        const refused = await service.query(
          `{ ${list(`first: 1, after: "${forge(parts.with(place, 1))}"`)} }`,
          {
            authorization,
          },
        );
        expect(refused.errors.map(({ extensions }) => extensions.code)).toEqual(['INVALID_CURSOR']);
      }
    });
  });

  it('show a limited account, like lists and search, no member of a hidden group or list, and no group that only such a group names', async () => {
    const people = ['anna', 'dora', 'ian'].map((id) => ({ id }));
    const groups: TestGroup[] = [
      { id: 'closed', members: ['dora', '@deep'], description: 'private' },
      { id: 'deep', members: ['anna'] },
      { id: 'inner', members: ['ian'] },
      { id: 'unseen', members: ['olaf', '@inner'], description: 'secret' },
      { id: 'outer', members: ['@unseen'] },
      { id: 'wide', members: ['@closed'] },
    ];
    await apply(people, groups);
    const readAs = async (limit: string, ...scopes: ('read' | 'confidential')[]) => {
      const authorization = await service.limitedAccount([limit], 'read', 'directory', ...scopes);
      const answer = await service.read<Record<string, { totalCount: number; nodes: { id: string }[] }>>(
        `{ users(first: 9) { totalCount nodes { id } } groups(first: 9) { totalCount nodes { id } }
          search(query: "dora", first: 9) { totalCount nodes { ... on User { id } } }
          changes(first: 99, filter: {kinds: [USER_CREATED]}) { totalCount nodes { id: userId } } }`,
        { authorization },
      );
      const { errors } = await service.query('{ user(user: {id: "dora"}) { id } }', { authorization });
      const idsIn = (name: string) => (answer[name]?.nodes ?? []).map(({ id }) => id);
      for (const { totalCount, nodes } of Object.values(answer)) expect(totalCount).toBe(nodes.length);
      expect(idsIn('users')).toEqual(expect.arrayContaining(idsIn('changes')));
      expect(idsIn('search').length).toBe(errors.length === 0 ? 1 : 0);
      return [idsIn('users'), idsIn('groups')];
    };
    expect(await readAs('closed')).toEqual([[], ['closed']]);
    expect(await readAs('unseen')).toEqual([[], []]);
    expect(await readAs('outer')).toEqual([['ian', 'olaf'], ['outer']]);
    expect(await readAs('wide')).toEqual([
      ['anna', 'dora'],
      ['closed', 'wide'],
    ]);
    expect(await readAs('closed', 'confidential')).toEqual([
      ['anna', 'dora'],
      ['closed', 'deep'],
    ]);
    expect(await readAs('unseen', 'confidential')).toEqual([
      ['ian', 'olaf'],
      ['inner', 'unseen'],
    ]);
  });
});

const REFERRING_MODEL = `
users: {fields: {boss: {attribute: manager, type: User, description: Boss}}}
groups: {fields: {contact: {attribute: seeAlso, type: User, description: Contact}}}
scopes: {confidential: Hidden people.}
visibility: {bypass: confidential, users: [{where: (employeeType=hidden), to: groupAdmins}]}
`;

/** Ben, Mia and the club refer to Hans, who is hidden unless \`isOpen\`. Vera administers a group of Ben, and none of Hans. */
function referringLdif(people: string[], isOpen = false): string {
  const lines: Record<string, string> = {
    ben: `manager: ${personDn('hans')}`,
    mia: `manager: ${personDn('hans')}`,
    club: `seeAlso: ${personDn('hans')}`,
    ...(!isOpen && { hans: 'employeeType: hidden' }),
  };
  const ldif = buildLdif(
    people.map((id) => ({ id })),
    [{ id: 'club', members: ['mia', 'ben'], admins: ['vera'] }],
  );
  const records = ldif.split('\n\n').map((record) => {
    const dn = Buffer.from(/^dn:: (\S+)$/m.exec(record)?.[1] ?? '', 'base64').toString();
    const more = lines[/^\w+=(\w+),/.exec(dn)?.[1] ?? ''];
    return more === undefined ? record : `${record.trimEnd()}\n${more}`;
  });
  return `${records.join('\n\n')}\n`;
}

describe('a change of an entry that refers to one that vanishes', () => {
  const PEOPLE = [...VIEWERS, 'ben'];
  const service = TestService.forSuite(() => {
    const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'models-')), 'model.yaml');
    writeFileSync(file, REFERRING_MODEL);
    return {
      ldif: referringLdif(PEOPLE),
      environment: {
        DIRECTORY_MODEL: file,
        AUTH_EMBEDDED_CLIENTS: writeClients(VIEWERS.map((id) => ({ id: `${id}-app`, owner: id }))),
        DIRECTORY_SYNC_SECONDS: '3600',
        DIRECTORY_GUARD_PERCENT: '100',
      },
    };
  });

  it('is seen by everyone, or only with the scope that sees everything if the other entry is hidden', async () => {
    await stopFollowing(service);
    const tokens = {
      confidant: await service.serviceAccount('read', 'directory', 'confidential'),
      machine: await service.serviceAccount('read', 'directory'),
      vera: await service.accessToken('read directory', 'vera-app'),
      mia: await service.accessToken('read directory', 'mia-app'),
    };
    const updatesFor = async (authorization: string) => {
      const { changes } = await service.read<{ changes: Log }>(
        '{ changes(first: 50, filter: {kinds: [GROUP_UPDATED, USER_UPDATED]}) { totalCount nodes { id kind userId groupId } } }',
        { authorization },
      );
      expect(changes.totalCount).toBe(changes.nodes.length);
      return changes.nodes.map(({ userId, groupId }) => userId ?? groupId);
    };
    const apply = async (ldif: string) => {
      service.replaceDirectory(ldif);
      await service.synchronize();
    };
    const all = ['ben', 'mia', 'club'];
    await apply(referringLdif([...PEOPLE, 'hans']));
    await apply(referringLdif(PEOPLE));
    expect((await updatesFor(tokens.confidant)).sort()).toEqual([...all, ...all].sort());
    for (const who of ['machine', 'vera', 'mia'] as const)
      expect([who, await updatesFor(tokens[who])]).toEqual([who, []]);
    await apply(referringLdif([...PEOPLE, 'hans'], true));
    for (const who of ['machine', 'vera', 'mia'] as const)
      expect([who, (await updatesFor(tokens[who])).sort()]).toEqual([who, [...all].sort()]);
  });
});
