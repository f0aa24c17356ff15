import { sendPreviews } from '../support/clients/previews.js';
import { DataSource } from 'typeorm';
import { SCOPES } from '../../src/auth/principal.js';
import { COLUMNS } from '../../src/database/visibility/visible-statement.js';
import { ResponseCache } from '../../src/graphql/cache/response-cache.js';
import { PICTURE, buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { statementsOf } from '../support/builders/statements.js';
import { TEST_RULES } from '../support/builders/visibility-rules.js';
import { writeClients } from '../support/clients/clients.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

/** The columns whose values depend on the viewer. */
const COMPUTED = {
  users: ['group_count'],
  groups: ['member_count', 'members_visible_to'],
  effective_memberships: ['inherited_from', 'group_members_visible_to'],
  mirror_state: ['revision_uuid', 'user_count', 'group_count', 'change_count'],
} as const;

const PEOPLE: TestPerson[] = [{ id: 'anna' }, { id: 'ben' }, { id: 'vera' }, { id: 'olaf' }];
const HIDDEN: TestPerson[] = PEOPLE.map((each) =>
  each.id === 'anna' ? { ...each, familyName: 'hidden' } : each,
);
const GROUPS: TestGroup[] = [
  { id: 'club', members: ['anna', 'ben'], admins: ['vera'] },
  { id: 'union', members: ['@club', 'olaf'] },
];
const OPEN = buildLdif(PEOPLE, GROUPS);
const HIDING = buildLdif(HIDDEN, GROUPS);

const MEMBERS = '{ group(group: {id: "club"}) { members(first: 10) { totalCount nodes { user { id } } } } }';

describe('statements for a viewer', () => {
  const service = TestService.forSuite(() => ({
    visibility: TEST_RULES,
    compared: false,
    ldif: OPEN,
    environment: {
      AUTH_EMBEDDED_CLIENTS: writeClients(
        ['vera', 'olaf'].map((id) => ({ id: `${id}-app`, owner: id, scopes: [...SCOPES, 'confidential'] })),
      ),
      DIRECTORY_SYNC_SECONDS: '3600',
      DIRECTORY_GUARD_PERCENT: '100',
      LIMIT_TOKENS: '100000',
    },
  }));
  const tokens: Record<string, string> = {};

  beforeAll(async () => {
    await stopFollowing(service);
    for (const id of ['vera', 'olaf'])
      tokens[id] = await service.accessToken('read directory write', `${id}-app`);
    tokens['confidant'] = await service.accessToken('read directory write confidential', 'olaf-app');
  });

  afterEach(() => apply(OPEN));

  async function apply(ldif: string): Promise<void> {
    service.replaceDirectory(ldif);
    await service.synchronize();
  }

  const sendAs: typeof sendPreviews = (to, text, options) => to.query(text, options);
  const query = (who: string, text: string) => service.query(text, { authorization: tokens[who] ?? '' });
  const textsOf = async (work: () => Promise<unknown>) => (await statementsOf(work)).map(({ text }) => text);

  async function membersFor(who: string, text = MEMBERS): Promise<string[]> {
    const { data } = await query(who, text);
    const { group } = data as {
      group: { members: { totalCount: number; nodes: { user: { id: string } }[] } };
    };
    const ids = group.members.nodes.map(({ user }) => user.id);
    expect(group.members.totalCount).toBe(ids.length);
    return ids;
  }

  it('never show a revision that hides something as one that hides nothing, while revisions change', async () => {
    const wrong: string[] = [];
    let isDone = false;
    const read = async (): Promise<void> => {
      for (let index = 0; !isDone; index++) {
        // Another text each time, so that no response is from the cache.
        const { headers, data } = await query('olaf', `${MEMBERS} # ${index}`);
        const found = JSON.stringify(data);
        const revision = headers.get('directory-revision') ?? '';
        if (found.includes('anna') === hiding.has(revision) && known.has(revision)) wrong.push(found);
      }
    };
    const known = new Set<string>();
    const hiding = new Set<string>();
    const readers = [read(), read(), read()];
    for (let round = 0; round < 10; round++) {
      const isHiding = round % 2 === 0;
      await apply(isHiding ? HIDING : OPEN);
      const { headers } = await query('vera', '{ user(user: {id: "ben"}) { id } }');
      const revision = headers.get('directory-revision') ?? '';
      if (isHiding) hiding.add(revision);
      known.add(revision);
    }
    isDone = true;
    await Promise.all(readers);
    expect(wrong).toEqual([]);
    expect(known.size).toBe(10);
  });

  it('have cached responses for each viewer', async () => {
    await apply(HIDING);
    for (let time = 0; time < 3; time++) {
      expect(await membersFor('vera')).toEqual(['anna', 'ben', 'vera']);
      expect(await membersFor('olaf')).toEqual(['ben', 'vera']);
      expect(await membersFor('confidant')).toEqual(['anna', 'ben', 'vera']);
    }
    const statements = await textsOf(() => Promise.all([membersFor('vera'), membersFor('olaf')]));
    expect(statements).toEqual([]);
  });

  it('have no header and no count of the cache that depends on the requests of other viewers', async () => {
    await apply(HIDING);
    const cache = service.app.get(ResponseCache);
    const askAfter = async (others: string[], text: string) => {
      for (let time = 0; time < 3; time++) for (const who of others) await query(who, text);
      const { hits } = cache.statistics;
      const { data, headers } = await query('olaf', text);
      const own = /^(date|x-request-id|directory-as-of|ratelimit)$/;
      return {
        data,
        headers: [...headers].filter(([name]) => !own.test(name)),
        hits: cache.statistics.hits - hits,
      };
    };
    const alone = await askAfter([], `${MEMBERS} # alone`);
    const later = await askAfter(['vera', 'confidant'], `${MEMBERS} # later`);
    expect(later).toEqual(alone);
    expect(later.hits).toBe(0);
    expect(later.headers.map(([name]) => name)).not.toContain('age');
  });

  it('give no signed URL of a user who became hidden, also not a cached one, and no photo at one that was given', async () => {
    const text = '{ group(group: {id: "club"}) { members(first: 9) { nodes { user { id photo } } } } }';
    const photosFor = async (who: string) => {
      const { data } = await query(who, text);
      return [...JSON.stringify(data).matchAll(/"(http[^"]*\/photo\/v1\/[^"]*)"/g)].map(
        ([, url]) => url ?? '',
      );
    };
    const withPhoto = (people: TestPerson[]) =>
      buildLdif(
        people.map((each) => (each.id === 'anna' ? { ...each, photo: PICTURE } : each)),
        GROUPS,
      );
    await apply(withPhoto(PEOPLE));
    const [given = ''] = await photosFor('olaf');
    for (let time = 0; time < 3; time++) expect(await photosFor('olaf')).toHaveLength(1);
    await apply(withPhoto(HIDDEN));
    expect(await photosFor('olaf')).toEqual([]);
    expect((await query('olaf', '{ user(user: {id: "anna"}) { photo } }')).data).toEqual({ user: null });
    const shown =
      '{ user(user: {id: "anna"}) { photo } search(query: "anna", first: 1) { nodes { ... on User { photo } } } }';
    const single = JSON.stringify((await query('vera', shown)).data).match(/http[^"]*/g) ?? [];
    const byAudience = [...(await photosFor('vera')), ...(await photosFor('vera')), ...single];
    expect(byAudience).toHaveLength(4);
    expect(new Set(byAudience).size).toBe(1);
    const statusOf = async (url: string) => (await fetch(url)).status;
    expect([await statusOf(given), await statusOf(byAudience[0] ?? '')]).toEqual([404, 200]);
    // A signature is for one id, so that an existing, a hidden and an absent id are rejected alike.
    const forged = given.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    const others = ['vera', 'nope'].map((id) => given.replace('/anna?', `/${id}?`));
    const statuses = await Promise.all([forged, ...others].map(async (url) => (await fetch(url)).status));
    expect(statuses).toEqual([403, 403, 403]);
    await apply(withPhoto(PEOPLE));
    expect([await statusOf(given), await statusOf(byAudience[0] ?? '')]).toEqual([200, 200]);
  });

  it.each([
    '{ user(user: {id: "ID"}) { id groups(first: 3) { totalCount } } }',
    '{ isMember(user: {id: "ID"}, group: {id: "club"}) }',
    '{ groups(first: 5, filter: {hasMember: {id: "ID"}}) { totalCount } }',
    'mutation { updateUser(input: {user: {id: "ID"}, name: "Other"}) { user { id } } }',
    'mutation { addGroupMember(input: {user: {id: "ID"}, group: {id: "union"}, role: MEMBER}) { membership { user { id } } } }',
    'mutation { removeGroupMember(input: {user: {id: "ID"}, group: {id: "club"}}) { group { id } } }',
  ])('answer about a hidden user as about an absent one: %s', async (text) => {
    await apply(HIDING);
    const outcomes = [];
    for (const id of ['anna', 'nope']) {
      const send = text.startsWith('mutation') ? sendPreviews : sendAs;
      const authorization = tokens['olaf'] ?? '';
      const { data, errors, headers } = await send(service, text.replaceAll('ID', id), { authorization });
      const shown = errors.map(({ message, extensions: { requestId, ...rest } }) => [
        message,
        rest,
        typeof requestId,
      ]);
      outcomes.push({ data, shown, headers: [...headers.keys()], cost: headers.get('x-ratelimit-cost') });
    }
    expect(outcomes[0]?.shown).toHaveLength(1);
    expect(outcomes[0]).toEqual(outcomes[1]);
  });

  it.each([
    'createGroup(input: {id: "surprise", name: "New"}) { preview { ldif } group { id name members(first: 9) { totalCount } parents(first: 9) { totalCount } } }',
    'createGroup(input: {id: "outing", name: "New"}) { preview { ldif } group { id parents(first: 9) { nodes { id } } } }',
    'removeGroupMember(input: {group: {id: "club"}, user: {id: "ben"}}) { preview { ldif } group { id } }',
    'deleteGroup(input: {group: {id: "club"}}) { preview { ldif } }',
    'addGroupMember(input: {group: {id: "union"}, user: {id: "olaf"}}) { membership { role { value } user { groups(first: 9) { totalCount nodes { group { id memberCount: members(first: 9) { totalCount } } role { value } } } } } }',
    'addGroupMember(input: {group: {id: "board"}, user: {id: "olaf"}}) { preview { ldif } membership { role { value inheritedFrom { id } } group { id } user { groups(first: 9) { totalCount } } } }',
  ])('give a preview as if what is hidden did not exist: %s', async (mutation) => {
    const seen = [];
    for (const isWithHidden of [true, false]) {
      const hidden = (entries: string[]) => (isWithHidden ? entries : []);
      const groups: TestGroup[] = [
        { id: 'club', members: [...hidden(['anna']), 'ben'], owners: ['vera'] },
        { id: 'union', members: ['ben'] },
        { id: 'board', description: 'private', members: ['vera'], owners: hidden(['@union']) },
        ...(isWithHidden ? [{ id: 'surprise', description: 'secret', members: ['vera', 'ben'] }] : []),
        // It names a group that does not exist.
        { id: 'plans', description: 'secret', members: ['vera', ...hidden(['@outing'])] },
      ];
      await apply(buildLdif(isWithHidden ? HIDDEN : PEOPLE.slice(1), groups));
      const authorization = tokens['olaf'] ?? '';
      const { data, errors } = await sendPreviews(service, `mutation { ${mutation} }`, { authorization });
      seen.push({
        data,
        errors: errors.map(({ message, path, extensions: { code } }) => ({ message, path, code })),
      });
    }
    expect(seen[0]).toEqual(seen[1]);
  });

  it('show a group as updated only when everyone can see the change', async () => {
    const groupsOf = (members: string[], secrets: string[]): TestGroup[] => [
      { id: 'club', members, admins: ['vera'] },
      { id: 'board', description: 'private', members: secrets },
      { id: 'union', members: ['olaf'] },
    ];
    /** The time of each group, and the order of the groups by it, in pages of one. */
    const timesFor = async (who: string) => {
      const order: { id: string; updatedAt: string }[] = [];
      let after: string | null = null;
      for (let hasNextPage = true; hasNextPage;) {
        const page = `groups(first: 1, after: ${JSON.stringify(after)}, orderBy: {field: UPDATED_AT})`;
        const { data } = await query(
          who,
          `{ ${page} { nodes { id updatedAt } pageInfo { hasNextPage endCursor } } }`,
        );
        const { groups } = data as {
          groups: { nodes: typeof order; pageInfo: { hasNextPage: boolean; endCursor: string } };
        };
        order.push(...groups.nodes);
        ({ hasNextPage, endCursor: after } = groups.pageInfo);
      }
      const times = order.map(({ updatedAt }) => updatedAt);
      expect(times).toEqual([...times].sort());
      return order;
    };
    await apply(buildLdif(HIDDEN, groupsOf(['anna', 'ben'], ['vera', 'ben'])));
    const before = { olaf: await timesFor('olaf'), confidant: await timesFor('confidant') };
    expect(before.olaf).toHaveLength(3);
    await apply(buildLdif(HIDDEN, groupsOf(['ben'], ['vera'])));
    expect(await timesFor('olaf')).toEqual(before.olaf);
    const latest = (await timesFor('confidant')).slice(-2).map(({ id }) => id);
    expect(latest.sort()).toEqual(['board', 'club']);
    // The user vanishes with the membership.
    await apply(buildLdif(HIDDEN, groupsOf(['anna', 'ben'], ['vera'])));
    await apply(buildLdif(HIDDEN.slice(1), groupsOf(['ben'], ['vera'])));
    expect(await timesFor('olaf')).toEqual(before.olaf);
    await apply(buildLdif(HIDDEN, groupsOf(['ben', 'olaf'], ['vera'])));
    const after = await timesFor('olaf');
    expect(after.at(-1)?.id).toBe('club');
    expect(after.slice(0, 2)).toEqual(before.olaf.filter(({ id }) => id !== 'club'));
  });

  it.each(['secret of admins', 'private to admins'])(
    'show the creator of a group the group in the preview, also one of which a rule would hide something: %s',
    async (description) => {
      await apply(HIDING);
      const input = `{id: "new", name: "New", description: "${description}"}`;
      const created = `group { id members(first: 5) { totalCount nodes { user { id } } } } preview { ldif }`;
      const { data, errors } = await query(
        'olaf',
        `mutation { createGroup(input: ${input}) { ${created} } }`,
      );
      expect({ errors, data }).toEqual({
        errors: [],
        data: {
          createGroup: {
            group: { id: 'new', members: { totalCount: 1, nodes: [{ user: { id: 'olaf' } }] } },
            preview: { ldif: expect.stringContaining('owner: uid=olaf') as string },
          },
        },
      });
    },
  );

  it.each(Object.keys(COLUMNS) as (keyof typeof COLUMNS)[])('list every column of %s', async (table) => {
    const rows: { name: string }[] = await service.app
      .get(DataSource)
      .query('select column_name as name from information_schema.columns where table_name = $1', [table]);
    expect([...COLUMNS[table], ...COMPUTED[table]].sort()).toEqual(rows.map(({ name }) => name).sort());
  });
});
