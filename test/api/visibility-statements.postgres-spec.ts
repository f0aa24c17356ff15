import { sendPreviews } from '../support/clients/previews.js';
import sharp from 'sharp';
import { SCOPES } from '../../src/auth/principal.js';
import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
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

  it('make a cached response vanish with the revision that hides its content', async () => {
    for (let time = 0; time < 3; time++) expect(await membersFor('olaf')).toContain('anna');
    await apply(HIDING);
    expect(await membersFor('olaf')).not.toContain('anna');
  });

  it('give no signed URL of a user who became hidden, also not a cached one, and no photo at one that was given', async () => {
    const text = '{ group(group: {id: "club"}) { members(first: 9) { nodes { user { id photo } } } } }';
    const photosFor = async (who: string) => {
      const { data } = await query(who, text);
      return [...JSON.stringify(data).matchAll(/"(http[^"]*\/photo\/v1\/[^"]*)"/g)].map(
        ([, url]) => url ?? '',
      );
    };
    const photo = await sharp({ create: { width: 1, height: 1, channels: 3, background: 'teal' } })
      .jpeg()
      .toBuffer();
    const withPhoto = (people: TestPerson[]) =>
      buildLdif(
        people.map((each) => (each.id === 'anna' ? { ...each, photo } : each)),
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
});
