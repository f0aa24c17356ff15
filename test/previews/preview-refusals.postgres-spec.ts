import { groupDn } from '../support/builders/directory.js';
import { checksums, type Payload, preview, recordsIn, startPreviews } from '../support/clients/previews.js';
import { forSuite } from '../support/for-suite.js';

/** Entries with an id or a DN that are not mirrored: two with the same id, and one with an id that is too long. */
const SKIPPED_ENTRIES = [
  ['cn=twice,ou=groups', 'twice'],
  ['cn=TWICE,ou=old,ou=groups', 'TWICE'],
  ['CN = hidden ,ou=groups', `${'x'.repeat(300)}\ncn: hidden`],
]
  .map(
    ([dn = '', cn = '']) =>
      `\ndn: ${dn},dc=example,dc=org\nobjectClass: groupOfNames\ncn: ${cn}\nmember: x=y\n`,
  )
  .join('');

const CLUB = 'group: {id: "club"}';

/** User, operation, and the expected code and argument. */
const REFUSED: [who: string, mutation: string, code: string, argument: string][] = [
  ['olga', 'updateProfile(input: {}) { profile { id } }', 'BAD_USER_INPUT', 'input'],
  ['olga', 'updateProfile(input: {name: "Olga Öberg"}) { profile { id } }', 'BAD_USER_INPUT', 'input'],
  ['olga', 'updateProfile(input: {name: null}) { profile { id } }', 'BAD_USER_INPUT', 'name'],
  ['olga', 'updateProfile(input: {familyName: "  "}) { profile { id } }', 'BAD_USER_INPUT', 'familyName'],
  ['olga', 'updateProfile(input: {email: "olga"}) { profile { id } }', 'BAD_USER_INPUT', 'email'],
  [
    'administrator',
    'updateUser(input: {user: {id: "nobody"}, name: "X"}) { user { id } }',
    'NOT_FOUND',
    'user',
  ],
  ['administrator', 'updateUser(input: {user: {id: "mia"}}) { user { id } }', 'BAD_USER_INPUT', 'input'],
  ['olga', created('club'), 'CONFLICT', 'id'],
  ['olga', created('CLUB'), 'CONFLICT', 'id'],
  ['olga', created('Twice'), 'CONFLICT', 'id'],
  ['olga', created('Hidden'), 'CONFLICT', 'id'],
  ['olga', created('new', 'parent: {id: "nowhere"}'), 'NOT_FOUND', 'parent'],
  ['olga', created('new', 'website: "ftp://example.org"'), 'BAD_USER_INPUT', 'website'],
  ['olga', 'updateGroup(input: {group: {id: "nowhere"}, name: "X"}) { group { id } }', 'NOT_FOUND', 'group'],
  ['olga', `updateGroup(input: {${CLUB}}) { group { id } }`, 'BAD_USER_INPUT', 'input'],
  ['olga', `updateGroup(input: {${CLUB}, name: "Club"}) { group { id } }`, 'BAD_USER_INPUT', 'input'],
  ['olga', 'deleteGroup(input: {group: {id: "nowhere"}}) { deletedGroupId }', 'NOT_FOUND', 'group'],
  ['olga', `deleteGroup(input: {${CLUB}}) { deletedGroupId }`, 'CONFLICT', 'input'],
  ['olga', member('add', 'nowhere', 'sven'), 'NOT_FOUND', 'group'],
  ['olga', member('add', 'club', 'nobody'), 'NOT_FOUND', 'user'],
  ['olga', member('add', 'club', 'mia'), 'CONFLICT', 'user'],
  ['olga', member('update', 'club', 'nobody', 'OWNER'), 'NOT_FOUND', 'user'],
  ['olga', member('update', 'club', 'sven', 'OWNER'), 'NOT_FOUND', 'user'],
  ['olga', member('update', 'club', 'ines', 'OWNER'), 'CONFLICT', 'user'],
  ['olga', member('update', 'club', 'adam', 'ADMIN'), 'BAD_USER_INPUT', 'role'],
  ['olga', member('remove', 'club', 'nobody'), 'NOT_FOUND', 'user'],
  ['olga', member('remove', 'club', 'sven'), 'NOT_FOUND', 'user'],
  ['olga', member('remove', 'club', 'ines'), 'CONFLICT', 'user'],
  ['administrator', member('remove', 'team', 'ines'), 'CONFLICT', 'input'],
  ['sven', member('remove', 'club', 'nobody'), 'NOT_FOUND', 'user'],
  ['sven', member('remove', 'club', 'adam'), 'FORBIDDEN', 'group'],
  ['sven', 'updateGroup(input: {group: {id: "club"}}) { group { id } }', 'FORBIDDEN', 'group'],
];

function created(id: string, more = ''): string {
  return `createGroup(input: {id: "${id}", name: "New" ${more}}) { group { id } }`;
}

function member(verb: string, group: string, user: string, role?: string): string {
  const payload = verb === 'remove' ? 'group { id }' : 'membership { user { id } }';
  const as = role === undefined ? '' : `, role: ${role}`;
  return `${verb}GroupMember(input: {group: {id: "${group}"}, user: {id: "${user}"}${as}}) { ${payload} }`;
}

const WRITE = `mutation ($person: UpdateUserInput!, $group: UpdateGroupInput!) {
  updateUser(input: $person) { user { name givenName familyName schoolYear } preview { ldif } }
  updateGroup(input: $group) { group { description } preview { ldif } }
}`;

describe('a rejected preview', () => {
  const service = forSuite(() => startPreviews(SKIPPED_ENTRIES));
  let administrator: string;
  let stored: unknown;

  beforeAll(async () => {
    administrator = await service.serviceAccount('read', 'directory', 'write');
    stored = await checksums(service);
  });

  it.each(REFUSED)('reports %s about %s with %s', async (who, mutation, code, argument) => {
    const caller = who === 'administrator' ? administrator : who;
    const { status, data, errors } = await preview(service, caller, `mutation { it: ${mutation} }`);
    expect(status).toBe(200);
    expect(data).toEqual({ it: null });
    expect(errors.map(({ path, extensions }) => [path, extensions.code, extensions['argument']])).toEqual([
      [['it'], code, argument],
    ]);
  });

  it.each([
    'line\nfeed',
    'carriage\rreturn',
    'nul\0',
    'bell\u0007',
    'lone\ud800',
    'next\u0085line',
    'x'.repeat(513),
  ])('does not accept %j as a name', async (name) => {
    const { errors } = await preview(service, administrator, WRITE, {
      person: { user: { id: 'mia' }, name },
      group: { group: { id: 'club' }, name },
    });
    expect(errors.map(({ extensions }) => [extensions.code, extensions['argument']])).toEqual([
      ['BAD_USER_INPUT', 'name'],
      ['BAD_USER_INPUT', 'name'],
    ]);
  });

  it('treats LDIF syntax in values as text', async () => {
    const hostile = [
      ': <file:///etc/passwd',
      '< file:///etc/passwd',
      ':: YWJj',
      '- dn: cn=admin,dc=example,dc=org',
      'changetype: delete',
      '\\, \\00 "#+;<=>',
      "'; drop table users; --",
      'x'.repeat(512),
    ];
    for (const text of hostile) {
      const description = `${text}\n\ndn: ${groupDn('club')}\nchangetype: delete\n-\n${'é'.repeat(9000)}`;
      const { data, errors } = await preview(service, administrator, WRITE, {
        person: { user: { id: 'mia' }, name: text, givenName: text, familyName: text },
        group: { group: { id: 'club' }, description },
      });
      expect(errors).toEqual([]);
      const { updateUser, updateGroup } = data as Record<string, Payload>;
      expect(updateUser?.['user']).toMatchObject({ name: text, givenName: text, familyName: text });
      expect(updateGroup?.['group']).toEqual({ description });
      for (const payload of [updateUser, updateGroup]) {
        const records = recordsIn(payload?.preview.ldif);
        expect(records).toHaveLength(1);
        expect(records[0]?.match(/^dn/gm)).toHaveLength(1);
        expect(records[0]).toMatch(/^[\x20-\x7e\n]*$/);
      }
    }
  });

  it('changes nothing', async () => expect(await checksums(service)).toEqual(stored));
});
