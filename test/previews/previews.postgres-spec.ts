import { groupDn, personDn } from '../support/builders/directory.js';
import { checksums, type Payload, preview, recordsIn, startPreviews } from '../support/clients/previews.js';
import { forSuite } from '../support/for-suite.js';

const PREVIEW = 'preview { ldif persisted basedOn }';
const MEMBERSHIP = 'membership { user { id } group { id } role { value direct inheritedFrom { id } } }';
const GROUP =
  'group { id name description website email members(first: 10) { nodes { user { id } role { value } } } parents(first: 5) { nodes { id } } }';

describe('a preview', () => {
  const service = forSuite(() => startPreviews());
  let administrator: string;
  let stored: unknown;

  beforeAll(async () => {
    administrator = await service.serviceAccount('read', 'directory', 'write');
    stored = await checksums(service);
  });

  // After each test, nothing of its changes remains.
  afterEach(async () => expect(await checksums(service)).toEqual(stored));

  /** The payload of one mutation without its preview, and the records of the preview. */
  async function succeed(who: string, mutation: string) {
    const { data, errors } = await preview(service, who, `mutation { it: ${mutation} }`);
    expect(errors).toEqual([]);
    const { preview: made, ...payload } = data?.['it'] as Payload;
    const { data: now } = await service.query<{ directoryStatus: { asOf: string } }>(
      '{ directoryStatus { asOf } }',
    );
    expect(made).toMatchObject({ persisted: false, basedOn: now?.directoryStatus.asOf });
    expect(made.ldif.startsWith('version: 1\ndn: ') && made.ldif.endsWith('\n\n')).toBe(true);
    return { payload, records: recordsIn(made.ldif) };
  }

  const nodes = (members: Record<string, string>) => ({
    nodes: Object.entries(members).map(([id, value]) => ({ user: { id }, role: { value } })),
  });

  it('changes the user of the token', async () => {
    const { payload, records } = await succeed(
      'olga',
      `updateProfile(input: {name: " Olga Berg ", familyName: "Berg", email: null, clientMutationId: "a:1"}) {
        clientMutationId ${PREVIEW}
        profile { id name givenName familyName email schoolYear user { name } groups(first: 3) { totalCount nodes { group { id } user { name } } } }
      }`,
    );
    const named = (id: string) => ({ group: { id }, user: { name: 'Olga Berg' } });
    expect(payload).toEqual({
      clientMutationId: 'a:1',
      profile: {
        id: 'olga',
        name: 'Olga Berg',
        givenName: 'Olga',
        familyName: 'Berg',
        email: null,
        schoolYear: '3A',
        user: { name: 'Olga Berg' },
        groups: { totalCount: 4, nodes: [named('board'), named('club'), named('school')] },
      },
    });
    expect(records).toEqual([
      `dn: ${personDn('olga')}
control: 1.3.6.1.1.12 true:: oA+iDYcLZGlzcGxheU5hbWU=
changetype: modify
add: displayName
displayName: Olga Berg
-
delete: sn
sn: olga
-
add: sn
sn: Berg
-
delete: mail
mail: olga@example.org
-`,
    ]);
  });

  it('creates a group inside another one, with its creator as owner', async () => {
    const { payload, records } = await succeed(
      'adam',
      `createGroup(input: {id: "chess-2026", name: "Schach", website: "https://example.org/", parent: {id: "club"}}) { ${PREVIEW} ${GROUP} }`,
    );
    expect(payload).toEqual({
      group: {
        id: 'chess-2026',
        name: 'Schach',
        description: null,
        website: 'https://example.org/',
        email: null,
        members: nodes({ adam: 'OWNER' }),
        parents: { nodes: [{ id: 'club' }] },
      },
    });
    expect(records).toEqual([
      `dn: ${groupDn('chess-2026')}
changetype: add
objectClass: groupOfNames
objectClass: directoryGroup
cn: chess-2026
displayName: Schach
labeledURI: https://example.org/
owner: ${personDn('adam')}
member: ${personDn('adam')}`,
      `dn: ${groupDn('club')}\nchangetype: modify\nadd: member\nmember: ${groupDn('chess-2026')}\n-`,
    ]);
  });

  it('deletes a group, after no group references it any more', async () => {
    const { data, errors } = await preview(
      service,
      administrator,
      `mutation {
        addGroupMember(input: {group: {id: "union"}, user: {id: "sven"}}) { ${PREVIEW} }
        deleteGroup(input: {group: {id: "Club"}}) { ${PREVIEW} deletedGroupId }
        again: deleteGroup(input: {group: {id: "club"}}) { deletedGroupId }
      }`,
    );
    expect(errors.map(({ path, extensions }) => [path, extensions.code])).toEqual([[['again'], 'NOT_FOUND']]);
    const { deletedGroupId, preview: made } = data?.['deleteGroup'] as Payload;
    expect(deletedGroupId).toBe('club');
    const without = (id: string) =>
      `dn: ${groupDn(id)}\nchangetype: modify\ndelete: member\nmember: ${groupDn('club')}\n-`;
    expect(recordsIn(made.ldif)).toEqual([
      without('school'),
      without('union'),
      `dn: ${groupDn('club')}\nchangetype: delete`,
    ]);
  });

  it('adds a member, also one who is in the group through another', async () => {
    const { payload, records } = await succeed(
      'adam',
      `addGroupMember(input: {group: {id: "club"}, user: {id: "ines"}}) { ${PREVIEW} ${MEMBERSHIP} }`,
    );
    expect(payload).toEqual({
      membership: {
        user: { id: 'ines' },
        group: { id: 'club' },
        role: { value: 'MEMBER', direct: 'MEMBER', inheritedFrom: [] },
      },
    });
    expect(records).toEqual([
      `dn: ${groupDn('club')}\nchangetype: modify\nadd: member\nmember: ${personDn('ines')}\n-`,
    ]);
  });

  it('has objects of types of their own at each depth, with identities that no query finds', async () => {
    const { data, errors } = await preview(
      service,
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

  async function changesOf(who: string, mutation: string): Promise<string[]> {
    const { data, errors } = await preview(
      service,
      who,
      `mutation { it: ${mutation} { preview { changes { path before after } } } }`,
    );
    expect(errors).toEqual([]);
    const { preview: made } = data?.['it'] as unknown as {
      preview: { changes: { path: string[]; before: string; after: string }[] };
    };
    return made.changes.map(({ path, before, after }) => `${path.join('.')}: ${before} > ${after}`);
  }

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
  ])('lists what would change: %s', async (_what, mutation, changes) => {
    const who = mutation.startsWith('deleteGroup') ? administrator : 'olga';
    expect(await changesOf(who, mutation)).toEqual(changes);
  });
});
