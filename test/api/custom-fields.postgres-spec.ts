/** @isolated It adds to the tables of fields. */
import { GROUP_FIELDS } from '../../src/groups/group.fields.js';
import { USER_FIELDS } from '../../src/users/user.fields.js';
import {
  CUSTOM_FIELDS_OF_GROUPS,
  CUSTOM_FIELDS_OF_USERS,
  customFieldsLdif,
  VIEWER,
} from '../support/builders/custom-fields.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { sendPreviews } from '../support/clients/previews.js';
import { TestService } from '../support/servers/service.js';

describe('custom fields', () => {
  const service = TestService.forSuite(() => {
    USER_FIELDS.push(...CUSTOM_FIELDS_OF_USERS);
    GROUP_FIELDS.push(...CUSTOM_FIELDS_OF_GROUPS);
    return { ldif: customFieldsLdif() };
  });
  let account: string;
  let viewer: string;

  beforeAll(async () => {
    await stopFollowing(service);
    account = await service.serviceAccount('read', 'directory', 'write');
    viewer = await service.accessToken('profile read');
  });

  const ask = (query: string, authorization = account) => service.read(query, { authorization });
  const idsOf = async (filter: string) => {
    const { users } = (await ask(`{ users(first: 9, filter: {${filter}}) { nodes { id } totalCount } }`)) as {
      users: { nodes: { id: string }[]; totalCount: number };
    };
    expect(users.totalCount).toBe(users.nodes.length);
    return users.nodes.map(({ id }) => id);
  };

  it.each([
    ['phone: {is: "+41 44 äö"}', [VIEWER]],
    ['phone: {is: "+41 44 ao"}', []],
    ['phone: {is: "+41 44"}', []],
    ['phone: {in: ["+41 44 AO 2", "nobody"]}', ['ben']],
    ['phone: {is: "(+41)44-ao/2."}', ['ben']],
    ['phone: {in: []}', []],
    ['phone: {startsWith: "+4144 "}', [VIEWER, 'ben']],
    ['phone: {startsWith: "+41 (44) ao"}', ['ben']],
    [`phone: {startsWith: "${'x'.repeat(128)}"}`, []],
    ['phone: {}', [VIEWER, 'ben', 'cleo', 'dan']],
    ['phone: {is: null}', [VIEWER, 'ben', 'cleo', 'dan']],
    ['staffNumber: {is: -17}', [VIEWER]],
    ['staffNumber: {in: [-17, 2147483647]}', [VIEWER, 'ben']],
    ['staffNumber: {min: -16}', ['ben']],
    ['staffNumber: {min: -17, max: 0}', [VIEWER]],
    ['hours: {min: 38.5, max: 99}', [VIEWER]],
    ['hours: {is: 100}', ['ben']],
    ['isExternal: {is: true}', ['ben']],
    ['isExternal: {is: false}', [VIEWER]],
    ['endsAt: {since: "2024-02-29T08:09:10.123Z"}', [VIEWER, 'cleo']],
    ['endsAt: {since: "2024-02-29T08:09:10.124Z", until: "2030-01-01T00:00:00Z"}', ['cleo']],
    ['endsAt: {until: "9999-12-31T23:59:59-12:00"}', [VIEWER, 'cleo']],
    ['endsAt: {until: "2029-12-31T23:59:59+01:00"}', [VIEWER]],
    ['badge: {is: "b-7"}', [VIEWER]],
    ['badge: {is: "b7"}', []],
    ['locker: {is: "L1"}', []],
    ['homepage: {is: "HTTPS://ada.example.org/%c3%a9"}', []],
    ['homepage: {is: "https://ada.example.org/%C3%A9"}', [VIEWER]],
    ['homepage: {startsWith: "https://ada."}', [VIEWER]],
    ['homepage: {startsWith: "http://ada."}', []],
    ['phone: {startsWith: "+41"}, staffNumber: {is: 2147483647}, schoolYear: null', ['ben']],
    ['search: "44 ao 2"', ['ben']],
  ])('filter users: {%s}', async (filter, ids) => expect(await idsOf(filter)).toEqual(ids));

  it.each([
    ['staffNumber', `in: ${JSON.stringify(Array.from({ length: 101 }, (_, index) => index))}`],
    ['phone', `startsWith: "${'x'.repeat(129)}"`],
  ])('reject what is too long: %s', async (name, condition) => {
    const { errors } = await service.query(
      `{ users(first: 1, filter: {${name}: {${condition}}}) { totalCount } }`,
      { authorization: account },
    );
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', argument: name } }]);
  });

  it('need their scope, in selections and in filters', async () => {
    const shown = await service.query(`{ user(user: {id: "ben"}) { id badge } }`, { authorization: viewer });
    expect(shown.data).toEqual({ user: { id: 'ben', badge: null } });
    expect(shown.errors).toMatchObject([
      { extensions: { code: 'INSUFFICIENT_SCOPE' }, path: ['user', 'badge'] },
    ]);
    for (const [query, variables] of [
      [
        '{ group(group: {id: "club"}) { members(first: 1, filter: {badge: {is: "B-8"}}) { totalCount } } }',
        {},
      ],
      [
        'query ($f: UserMemberFilter) { group(group: {id: "club"}) { members(first: 1, filter: $f) { totalCount } } }',
        { f: { badge: { startsWith: '' } } },
      ],
    ] as const) {
      const filtered = await service.query(query, { authorization: viewer, variables });
      expect(filtered.data ?? null).toBeNull();
      expect(filtered.errors).toMatchObject([
        { extensions: { code: 'INSUFFICIENT_SCOPE', requiredScopes: ['write'] } },
      ]);
    }
  });

  describe('with an audience', () => {
    const PAGE = `{ choir: group(group: {id: "choir"}) { budget plan members(first: 9) { nodes { user { id locker notes } } } }
      club: group(group: {id: "club"}) { budget plan members(first: 9) { nodes { user { id locker notes } } } } }`;

    function lockersOf({ members }: { members: { nodes: { user: Record<string, unknown> }[] } }) {
      return members.nodes.map(({ user: { id, locker, notes } }) => [id, locker, notes]);
    }

    it('are null for all others, without an error', async () => {
      // The cached response of one principal is not that of another.
      for (let round = 0; round < 3; round++) {
        const seen = (await ask(PAGE, viewer)) as Record<string, Parameters<typeof lockersOf>[0]>;
        expect(seen).toMatchObject({
          club: { budget: 100, plan: null },
          choir: { budget: null, plan: null },
        });
        expect(lockersOf(seen['club'] as never)).toEqual([
          [VIEWER, 'L 1', ['n']],
          ['ben', 'L 2', null],
          ['cleo', 'L 3', null],
        ]);
        expect(lockersOf(seen['choir'] as never)).toEqual([
          [VIEWER, 'L 1', ['n']],
          ['dan', null, null],
        ]);
        const hidden = JSON.stringify(await ask(PAGE));
        expect(hidden).not.toMatch(/"L \d|"n"|"p"|100|200/);
      }
      expect(await ask('{ profile { locker notes user { locker } } }', viewer)).toEqual({
        profile: { locker: 'L 1', notes: ['n'], user: { locker: 'L 1' } },
      });
    });

    it('are found by a filter only where the viewer sees them', async () => {
      const query = (group: string) =>
        `{ group(group: {id: "${group}"}) { members(first: 9, filter: {locker: {startsWith: "l"}}) { nodes { user { id } } totalCount } } }`;
      const found = async (group: string, authorization: string) => {
        const { group: read } = (await ask(query(group), authorization)) as {
          group: { members: { nodes: { user: { id: string } }[]; totalCount: number } };
        };
        expect(read.members.totalCount).toBe(read.members.nodes.length);
        return read.members.nodes.map(({ user }) => user.id);
      };
      for (let round = 0; round < 3; round++) {
        expect(await found('club', viewer)).toEqual([VIEWER, 'ben', 'cleo']);
        expect(await found('choir', viewer)).toEqual([VIEWER]);
        expect(await found('club', account)).toEqual([]);
      }
      expect(await idsOf('locker: {in: ["L 1", "L 2"]}')).toEqual([]);
    });
  });

  it('are changed by previews, with the syntax of their attributes', async () => {
    const preview = async (id: string, changes: string) => {
      const { updateUser } = (await ask(
        `mutation { updateUser(input: {user: {id: "${id}"}, ${changes}}) {
          user { phone staffNumber hours isExternal endsAt homepage } preview { ldif } } }`,
      )) as { updateUser: { user: Record<string, unknown>; preview: { ldif: string } } };
      return { ...updateUser.user, lines: updateUser.preview.ldif.split('\n') };
    };
    const first = await preview(
      'dan',
      'staffNumber: 8, hours: 0.5, isExternal: true, endsAt: "2026-01-02T03:04:05+01:00", homepage: "sip:dan@example.org"',
    );
    expect(first).toMatchObject({
      ...{ phone: null, staffNumber: 8, hours: 0.5, isExternal: true },
      ...{ endsAt: '2026-01-02T02:04:05.000Z', homepage: 'sip:dan@example.org' },
    });
    expect(first.lines).toEqual(
      expect.arrayContaining([
        'staffNumber: 8',
        'hours: 0.5',
        'isExternal: TRUE',
        'endsAt: 20260102020405Z',
        'homepage: sip:dan@example.org',
      ]),
    );
    // An instant keeps the form that the attribute has, and a URL its label.
    const second = await preview(
      VIEWER,
      'staffNumber: null, endsAt: "2026-01-02T03:04:05.678Z", homepage: "https://ada.example.org/"',
    );
    expect(second).toMatchObject({ staffNumber: null, endsAt: '2026-01-02T03:04:05.678Z' });
    expect(second.lines).toEqual(
      expect.arrayContaining([
        'staffNumber: -17',
        'endsAt: 133536677501230000',
        'endsAt: 134117966456780000',
        'homepage: https://ada.example.org/ Home',
      ]),
    );
    expect(second.lines.filter((line) => line === 'add: staffNumber')).toEqual([]);
  });

  it('reject a preview that changes nothing, does not fit, or would show what the viewer does not see', async () => {
    const codeOf = async (changes: string, authorization = account) => {
      const { errors } = await sendPreviews(
        service,
        `mutation { updateUser(input: {user: {id: "${VIEWER}"}, ${changes}}) { user { id } } }`,
        { authorization },
      );
      return errors.map(({ extensions: { code } }) => code).join();
    };
    expect(await codeOf('staffNumber: -17')).toBe('BAD_USER_INPUT');
    expect(await codeOf('isExternal: false')).toBe('BAD_USER_INPUT');
    expect(await codeOf('endsAt: "2024-02-29T08:09:10.123Z"')).toBe('BAD_USER_INPUT');
    expect(await codeOf('homepage: "javascript:alert(1)"')).toBe('BAD_USER_INPUT');
    expect(await codeOf('staffNumber: 2147483648')).toBe('GRAPHQL_VALIDATION_FAILED');
    expect(await codeOf('locker: "L 9"')).toBe('GRAPHQL_VALIDATION_FAILED');
  });
});
