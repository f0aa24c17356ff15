import { checksums, startPreviews } from '../support/clients/previews.js';
import { forSuite } from '../support/for-suite.js';

const ERRORS = 'userErrors { code message path }';
const CHANGES = 'preview { changes { path before after } }';

interface Payload {
  readonly [field: string]: unknown;
  readonly preview?: { readonly changes: readonly { path: string[]; before: string; after: string }[] };
  readonly userErrors?: readonly { code: string; message: string; path: string[] }[];
}

describe('a payload', () => {
  const service = forSuite(() => startPreviews());
  let administrator: string;
  let stored: unknown;

  beforeAll(async () => {
    administrator = await service.serviceAccount('read', 'directory', 'write');
    stored = await checksums(service);
  });

  // After each test, nothing of its changes remains.
  afterEach(async () => expect(await checksums(service)).toEqual(stored));

  async function request(who: string, text: string, variables?: Record<string, unknown>) {
    const authorization = who.includes(' ')
      ? who
      : await service.accessToken('profile read write', `${who}-app`);
    const { data, errors } = await service.query(text, { authorization, variables });
    return {
      data: data as unknown as Record<string, Payload | null> | undefined,
      errors: errors.map(({ path, extensions }) => [path?.join('.'), extensions.code]),
    };
  }

  async function changesOf(who: string, mutation: string): Promise<string[]> {
    const { data, errors } = await request(who, `mutation { it: ${mutation} { ${CHANGES} } }`);
    expect(errors).toEqual([]);
    const { changes = [] } = data?.['it']?.preview ?? {};
    return changes.map(({ path, before, after }) => `${path.join('.')}: ${before} > ${after}`);
  }

  describe('has objects of types of their own', () => {
    it('at each depth, with identities that no query finds', async () => {
      const { data, errors } = await request(
        'olga',
        `mutation {
          updateProfile(input: {name: "Olga Berg"}) {
            profile {
              __typename id name nodeId
              user { __typename nodeId name }
              groups(first: 1, filter: {search: "club"}) {
                __typename
                edges { __typename node { __typename group {
                  __typename nodeId
                  parents(first: 1) { __typename nodes { __typename id } }
                  members(first: 1, filter: {search: "olga"}) { nodes { user { __typename name } role { __typename inheritedFrom { __typename } } } }
                } } }
              }
            }
          }
        }`,
      );
      expect(errors).toEqual([]);
      const { profile } = data?.['updateProfile'] as unknown as { profile: Record<string, unknown> };
      const names = new Set(
        [...JSON.stringify(profile).matchAll(/"__typename":"(\w+)"/g)].map(([, name]) => name),
      );
      expect([...names].sort()).toEqual([
        'CurrentGroupMembershipInheritancePreview',
        'GroupMembershipPreview',
        'GroupMembershipPreviewConnection',
        'GroupMembershipPreviewEdge',
        'GroupPreview',
        'GroupPreviewConnection',
        'ProfilePreview',
        'UserPreview',
      ]);
      expect(profile).toMatchObject({ id: 'olga', name: 'Olga Berg', user: { name: 'Olga Berg' } });
      const nodeIds = [...JSON.stringify(profile).matchAll(/"nodeId":"([\w-]+)"/g)].map(([, id]) => id);
      expect(new Set(nodeIds).size).toBe(3);
      const found = await service.read<{ nodes: unknown[]; user: { nodeId: string } }>(
        `{ nodes(nodeIds: ${JSON.stringify(nodeIds)}) { nodeId } user(user: {id: "olga"}) { nodeId } }`,
        { authorization: administrator },
      );
      expect(found.nodes).toEqual([null, null, null]);
      expect(nodeIds).not.toContain(found.user.nodeId);
    });
  });

  describe('lists what would change', () => {
    it.each([
      [
        'of the user of the token',
        'updateProfile(input: {name: "Olga Berg", email: null, familyName: "Berg"})',
        [
          'profile.name: Olga Öberg > Olga Berg',
          'profile.familyName: olga > Berg',
          'profile.email: olga@example.org > null',
        ],
      ],
      [
        'without values that stay',
        'updateProfile(input: {givenName: "Olga", email: "o@example.org"})',
        ['profile.email: olga@example.org > o@example.org'],
      ],
      [
        'of a group',
        'updateGroup(input: {group: {id: "club"}, description: null, website: "https://example.org/"})',
        ['group.description: Chess and go > null', 'group.website: null > https://example.org/'],
      ],
      [
        'of a new group, with its parent and its owner',
        'createGroup(input: {id: "new", name: "New", parent: {id: "club"}})',
        [
          'group.id: null > new',
          'group.name: null > New',
          'group.parents: null > club',
          'membership.role.direct: null > OWNER',
          'membership.role.value: null > OWNER',
        ],
      ],
      [
        'of a group that would be gone',
        'deleteGroup(input: {group: {id: "team"}})',
        [
          'group.id: team > null',
          'group.name: Team > null',
          'group.parents: board > null',
          'group.parents: club > null',
        ],
      ],
      [
        'of roles: one that is new',
        'addGroupMember(input: {group: {id: "club"}, user: {id: "sven"}, role: ADMIN})',
        ['membership.role.direct: null > ADMIN', 'membership.role.value: null > ADMIN'],
      ],
      [
        'one in addition to a nested one',
        'addGroupMember(input: {group: {id: "club"}, user: {id: "ines"}})',
        ['membership.role.direct: null > MEMBER'],
      ],
      [
        'one that is lower',
        'updateGroupMember(input: {group: {id: "club"}, user: {id: "adam"}, role: MEMBER})',
        ['membership.role.direct: ADMIN > MEMBER', 'membership.role.value: ADMIN > MEMBER'],
      ],
      [
        'and one that ends',
        'removeGroupMember(input: {group: {id: "club"}, user: {id: "mia"}})',
        ['membership.role.direct: MEMBER > null', 'membership.role.value: MEMBER > null'],
      ],
    ])('%s', async (_what, mutation, changes) => {
      const who = mutation.startsWith('deleteGroup') ? administrator : 'olga';
      expect(await changesOf(who, mutation)).toEqual(changes);
    });
  });

  describe('has expected failures as data', () => {
    it.each([
      ['NOT_FOUND', 'sven', 'updateGroup(input: {group: {id: "unknown"}, name: "N"})', ['group'], 'group'],
      ['FORBIDDEN', 'sven', 'updateGroup(input: {group: {id: "club"}, name: "N"})', ['group'], 'group'],
      ['BAD_USER_INPUT', 'olga', 'updateProfile(input: {email: "none"})', ['email'], 'profile'],
      ['BAD_USER_INPUT', 'olga', 'updateProfile(input: {name: "Olga Öberg"})', [], 'profile'],
      ['CONFLICT', 'olga', 'createGroup(input: {id: "club", name: "Club"})', ['id'], 'group'],
      ['CONFLICT', 'olga', 'deleteGroup(input: {group: {id: "club"}})', [], 'deletedGroupId'],
    ])('%s, and no objects', async (code, who, mutation, path, object) => {
      const selected = object === 'deletedGroupId' ? object : `${object} { name }`;
      const it = mutation.replace('})', ', clientMutationId: "c"})');
      const { data, errors } = await request(
        who,
        `mutation { it: ${it} { clientMutationId ${ERRORS} ${selected} ${CHANGES} } }`,
      );
      expect(errors).toEqual([]);
      expect(data?.['it']).toEqual({
        clientMutationId: 'c',
        userErrors: [{ code, message: expect.any(String) as string, path: ['input', ...path] }],
        [object]: null,
        preview: null,
      });
    });

    it('none after a success, with the objects beside them', async () => {
      const { data, errors } = await request(
        'olga',
        `mutation { it: updateProfile(input: {name: "B"}) { ${ERRORS} profile { name } ${CHANGES} } }`,
      );
      expect(errors).toEqual([]);
      const change = { path: ['profile', 'name'], before: 'Olga Öberg', after: 'B' };
      expect(data?.['it']).toEqual({
        userErrors: [],
        profile: { name: 'B' },
        preview: { changes: [change] },
      });
    });
  });
});
