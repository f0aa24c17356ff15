import { readFileSync } from 'node:fs';
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

const service = forSuite(() => startPreviews(SKIPPED_ENTRIES));

describe('a rejected preview', () => {
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

/** The columns of the table of docs/clients.md, and who is tried in each: callers with that role in the board. */
const COLUMNS: readonly (readonly Caller[])[] = [
  ['administrator'],
  ['olga'],
  ['adam'],
  ['mia', 'ines'],
  ['sven'],
  ['machine', 'ghost', 'account'],
];

type Caller = 'administrator' | 'olga' | 'adam' | 'mia' | 'ines' | 'sven' | 'machine' | 'ghost' | 'account';

const IN_BOARD = 'group: {id: "board"}';

/** The beginnings of the rows, and a mutation for each. They are independent. */
const ROWS: [row: string, mutation: string][] = [
  ['`updateProfile`', 'updateProfile(input: {name: "Other"}) { profile { name } }'],
  ['`createGroup`, and', 'createGroup(input: {id: "own", name: "Own"}) { group { id } }'],
  [
    '`createGroup` with',
    'createGroup(input: {id: "inside", name: "Inside", parent: {id: "board"}}) { group { id } }',
  ],
  ['`updateGroup`', `updateGroup(input: {${IN_BOARD}, name: "Council"}) { group { name } }`],
  ['`addGroupMember` as MEMBER', added('sven', 'MEMBER')],
  ['`addGroupMember` as ADMIN', added('five', 'ADMIN')],
  ['`addGroupMember` as OWNER', added('six', 'OWNER')],
  [
    '`updateGroupMember`',
    `updateGroupMember(input: {${IN_BOARD}, user: {id: "one"}, role: ADMIN}) { membership { user { id } } }`,
  ],
  ['`removeGroupMember` of a MEMBER', removed('two')],
  ['`removeGroupMember` of an ADMIN', removed('three')],
  ['`removeGroupMember` of an OWNER', removed('four')],
  ['`deleteGroup`', `deleteGroup(input: {${IN_BOARD}}) { deletedGroupId }`],
];

function added(id: string, role: string): string {
  return `addGroupMember(input: {${IN_BOARD}, user: {id: "${id}"}, role: ${role}}) { membership { user { id } } }`;
}

function removed(id: string): string {
  return `removeGroupMember(input: {${IN_BOARD}, user: {id: "${id}"}}) { group { id } }`;
}

/** The rows of the table: what a change begins with, and the cells. `updateUser` needs a scope: see below. */
const TABLE = (
  /### Who can preview what\n(.*?)\n### /s.exec(readFileSync('docs/clients.md', 'utf8'))?.[1] ?? ''
)
  .split('\n')
  .filter((line) => line.startsWith('| `') && !line.includes('updateUser'))
  .map((line) => line.split('|').slice(1, -1))
  .map(([change = '', ...cells]) => [change.trim(), ...cells.map((cell) => cell.trim())]);

describe('the right to preview', () => {
  async function authorizationOf(caller: Caller): Promise<string> {
    if (caller === 'administrator') return service.serviceAccount('profile', 'directory', 'write');
    return caller === 'account' ? service.serviceAccount('profile', 'read', 'write') : caller;
  }

  const cases = COLUMNS.flatMap((callers, column) => callers.map((caller) => [caller, column] as const));

  it.each(cases)('matches the table of docs/clients.md for %s', async (caller, column) => {
    const mutations = ROWS.map(([, mutation], index) => `m${index}: ${mutation}`);
    const { status, data, errors } = await preview(
      service,
      await authorizationOf(caller),
      `mutation { ${mutations.join(' ')} }`,
    );
    expect([status, TABLE.length]).toEqual([200, ROWS.length]);
    for (const [index, [row, mutation]] of ROWS.entries()) {
      const cells = TABLE.find(([change = '']) => change.startsWith(row)) ?? [];
      const error = errors.find(({ path }) => path?.[0] === `m${index}`)?.extensions.code;
      // A service account and a client without a user have no profile, and own no group.
      const needsUser = /`(updateProfile|createGroup)/.test(row) && [0, COLUMNS.length - 1].includes(column);
      const refusal = needsUser ? 'NO_USER_CONTEXT' : 'FORBIDDEN';
      const found = data?.[`m${index}`] === null ? error : 'ok';
      expect([mutation, found]).toEqual([mutation, cells[column + 1] === 'yes' ? 'ok' : refusal]);
    }
  });

  it('is missing for the reason in the error', async () => {
    const { errors } = await preview(
      service,
      'adam',
      `mutation { ${added('sven', 'OWNER')} profile: updateGroup(input: {${IN_BOARD}, name: "X"}) { group { id } } }`,
    );
    expect(errors).toMatchObject([
      {
        message:
          'Only an OWNER of the group, or a token with the scopes directory and write, may add a user as OWNER: ' +
          'this token acts for an ADMIN of it',
        extensions: { argument: 'group' },
      },
      {
        message:
          'Only an OWNER of the group, or a token with the scopes directory and write, may change it: ' +
          'this token acts for an ADMIN of it',
      },
    ]);
  });

  it('changes of other users requires the scope directory', async () => {
    const mutation = 'mutation { updateUser(input: {user: {id: "olga"}, name: "Other"}) { user { name } } }';
    for (const caller of ['olga', 'machine', 'account'] as const) {
      const { status, errors } = await preview(service, await authorizationOf(caller), mutation);
      expect(status).toBe(403);
      expect(errors).toMatchObject([
        { extensions: { code: 'INSUFFICIENT_SCOPE', requiredScopes: ['directory', 'write'] } },
      ]);
    }
    const authorization = await service.accessToken('directory write', 'machine-app');
    expect((await preview(service, authorization, mutation)).data).toEqual({
      updateUser: { user: { name: 'Other' } },
    });
  });
});
