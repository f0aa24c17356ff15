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

/** The callers: a service account with the scope directory, users with each role in the board, and users without a role. */
const CALLERS = [
  ...(['administrator', 'olga', 'adam', 'mia', 'ines', 'sven', 'machine', 'ghost', 'account'] as const),
];

const IN_BOARD = 'group: {id: "board"}';

/** Independent mutations with the outcome for each caller; F is FORBIDDEN. */
const OUTCOMES: [mutation: string, outcomes: string][] = [
  ['updateProfile(input: {name: "Other"}) { profile { name } }', 'N ok ok ok ok ok N N N'],
  ['createGroup(input: {id: "own", name: "Own"}) { group { id } }', 'ok ok ok ok ok ok N N N'],
  [
    'createGroup(input: {id: "inside", name: "Inside", parent: {id: "board"}}) { group { id } }',
    'ok ok ok F F F N N N',
  ],
  [`updateGroup(input: {${IN_BOARD}, name: "Council"}) { group { name } }`, 'ok ok F F F F F F F'],
  [added('sven', 'MEMBER'), 'ok ok ok F F F F F F'],
  [added('five', 'ADMIN'), 'ok ok F F F F F F F'],
  [added('six', 'OWNER'), 'ok ok F F F F F F F'],
  [
    `updateGroupMember(input: {${IN_BOARD}, user: {id: "one"}, role: ADMIN}) { membership { user { id } } }`,
    'ok ok F F F F F F F',
  ],
  [removed('two'), 'ok ok ok F F F F F F'],
  [removed('three'), 'ok ok F F F F F F F'],
  [removed('four'), 'ok ok F F F F F F F'],
  [`deleteGroup(input: {${IN_BOARD}}) { deletedGroupId }`, 'ok ok F F F F F F F'],
];

function added(id: string, role: string): string {
  return `addGroupMember(input: {${IN_BOARD}, user: {id: "${id}"}, role: ${role}}) { membership { user { id } } }`;
}

function removed(id: string): string {
  return `removeGroupMember(input: {${IN_BOARD}, user: {id: "${id}"}}) { group { id } }`;
}

const CODES: Partial<Record<string, string>> = { F: 'FORBIDDEN', N: 'NO_USER_CONTEXT' };

describe('the right to preview', () => {
  async function authorizationOf(caller: (typeof CALLERS)[number]): Promise<string> {
    if (caller === 'administrator') return service.serviceAccount('profile', 'directory', 'write');
    return caller === 'account' ? service.serviceAccount('profile', 'read', 'write') : caller;
  }

  it.each(CALLERS)('matches the table of docs/clients.md for %s', async (caller) => {
    const mutations = OUTCOMES.map(([mutation], index) => `m${index}: ${mutation}`);
    const { status, data, errors } = await preview(
      service,
      await authorizationOf(caller),
      `mutation { ${mutations.join(' ')} }`,
    );
    expect(status).toBe(200);
    const found = OUTCOMES.map(([mutation], index) => {
      const error = errors.find(({ path }) => path?.[0] === `m${index}`);
      return [mutation, data?.[`m${index}`] === null ? error?.extensions.code : 'ok'];
    });
    const expected = OUTCOMES.map(([mutation, outcomes]) => {
      const outcome = outcomes.split(' ')[CALLERS.indexOf(caller)] ?? '';
      return [mutation, CODES[outcome] ?? outcome];
    });
    expect(found).toEqual(expected);
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
