import fc from 'fast-check';
import { parse } from 'yaml';
import { checkModel, reservedNames } from '../../config/model/read-model.js';
import { Entry } from '../../ldap/entry.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import type { Evidence } from './evidence.js';
import { suggestModel } from './suggest-model.js';

const BASE_DN = 'dc=example,dc=org';
const PERSON = { objectClass: ['top', 'inetOrgPerson'] };
const GROUP = { objectClass: ['top', 'groupOfNames'] };

const SPELLED = ['roomNumber', 'labeledURI', 'isTeacher', 'employeeNumber', 'memberUid', 'uniqueMember'];

type Attributes = Readonly<Record<string, readonly (string | Buffer)[]>>;

function entry(dn: string, attributes: Attributes): Entry {
  return new Entry(
    dn,
    Object.entries(attributes).map(([name, values]) => [name, values.map((value) => Buffer.from(value))]),
  );
}

function person(id: string, attributes: Attributes): Entry {
  return entry(dnOf(id), { ...PERSON, uid: [id], cn: [id], ...attributes });
}

function dnOf(id: string): string {
  return `uid=${id},ou=people,${BASE_DN}`;
}

function evidenceOf(people: readonly Entry[], groups: readonly Entry[] = []): Evidence {
  const keys = (entries: readonly Entry[]) => new Set(entries.map(({ dn }) => keyOfDn(dn)));
  return {
    server: 'openldap',
    baseDn: BASE_DN,
    users: { entries: people, keys: keys(people), bases: ['ou=people'] },
    groups: { entries: groups, keys: keys(groups), bases: ['ou=groups'] },
    names: new Map(SPELLED.map((name) => [name.toLowerCase(), name])),
  };
}

interface ModelText {
  users: { fields?: Record<string, unknown> } & Record<string, unknown>;
  groups: Record<string, unknown>;
  scopes?: Record<string, string>;
}

function suggested(people: readonly Entry[], groups: readonly Entry[] = []): ModelText {
  const text = suggestModel(evidenceOf(people, groups));
  expect(checkModel(text).problems).toEqual([]);
  return parse(text) as ModelText;
}

function typesOf(attributes: Attributes): Record<string, unknown> {
  const { fields } = suggested([person('anna', attributes), person('ben', {})]).users;
  return Object.fromEntries(
    Object.entries(fields ?? {}).map(([name, field]) => [name, (field as { type?: string }).type ?? field]),
  );
}

describe('a suggested model', () => {
  it('guesses types by all values', () => {
    expect(
      typesOf({
        employeeNumber: ['4711'],
        roomNumber: ['12', '014'],
        isTeacher: ['TRUE'],
        shoeSize: ['42.5'],
        hired: ['20200131120000Z'],
        expires: ['133485408000000000', '9223372036854775807'],
        blog: ['https://example.org/anna'],
        telephoneNumber: ['12345'],
        manager: [dnOf('ben')],
        colleague: [dnOf('ben'), dnOf('anna')],
        office: [`cn=unknown,${BASE_DN}`],
      }),
    ).toEqual({
      employeeNumber: 'Int',
      roomNumber: '[String!]!',
      isTeacher: 'Boolean',
      shoesize: 'Float',
      hired: 'DateTime',
      expires: '[DateTime!]!',
      blog: 'URL',
      telephonenumber: 'String',
      manager: 'User',
      colleague: '[User!]!',
      office: 'String',
    });
  });

  it('maps built-in fields, names the other side, and protects contact data', () => {
    const people = [
      person('anna', { mail: ['a@example.org'], manager: [dnOf('ben')], mobile: ['079'], homePhone: ['1'] }),
      person('ben', { sn: ['B'] }),
    ];
    const { users, scopes } = suggested(people);
    expect(users.fields).toEqual({
      familyName: 'sn',
      email: 'mail',
      homephone: {
        attribute: 'homephone',
        type: 'String',
        description: 'The value of homephone.',
        access: 'personal',
      },
      manager: {
        attribute: 'manager',
        type: 'User',
        description: 'The value of manager.',
        reverse: 'reports',
      },
      mobile: {
        attribute: 'mobile',
        type: 'String',
        description: 'The value of mobile.',
        access: 'personal',
      },
    });
    expect(Object.keys(scopes ?? {})).toEqual(['personal']);
  });

  it.each<[string, Attributes, object]>([
    ['member', { member: [dnOf('anna')] }, { attribute: 'member', by: 'dn' }],
    ['uniqueMember', { uniqueMember: [`${dnOf('anna')}#'01'B`] }, { attribute: 'uniqueMember', by: 'dn' }],
    [
      'both',
      { member: [dnOf('anna')], uniqueMember: [dnOf('anna')] },
      { attribute: ['member', 'uniqueMember'], by: 'dn' },
    ],
    ['memberUid', { memberUid: ['anna', 'gone'] }, { attribute: 'memberUid', by: 'id' }],
    [
      'member and memberUid',
      { member: [dnOf('anna')], memberUid: ['anna', 'gone'] },
      [
        { attribute: 'member', by: 'dn' },
        { attribute: 'memberUid', by: 'id' },
      ],
    ],
  ])('recognizes members by %s', (_, attributes, expected) => {
    const anna = person('anna', {});
    const club = entry(`cn=club,ou=groups,${BASE_DN}`, { ...GROUP, cn: ['club'], ...attributes });
    expect(suggested([anna], [club]).groups['members']).toEqual(expected);
  });

  it('leaves out credentials, binary values and what the server maintains', () => {
    const sensitive: Attributes = {
      userPassword: ['hunter2'],
      krbPrincipalKey: ['x'],
      sambaNTPassword: ['0CB6948805F797BF2A82807973B89537'],
      unknown: ['{SSHA}abcdef'],
      digest: ['0cb6948805f797bf2a82807973b89537'],
      shell: ['$6$salt$hash'],
      apiToken: ['x'],
      logo: [Buffer.from([0xff, 0xd8, 0xff])],
      modifiersName: [dnOf('anna')],
      memberOf: [dnOf('anna')],
    };
    expect(typesOf(sensitive)).toEqual({});
    const text = suggestModel(evidenceOf([person('anna', sensitive)]));
    for (const name of Object.keys(sensitive)) expect(text.toLowerCase()).not.toContain(name.toLowerCase());
  });

  const name = fc.oneof(
    fc.constantFrom(...reservedNames('users'), ...reservedNames('groups'), 'manager', 'reports', 'member'),
    fc.constantFrom(
      'l',
      'cn;lang-de',
      '1.2.840.113556.1.4.1',
      'a-b',
      'a-',
      'x'.repeat(200),
      'displayName',
      'street',
    ),
    fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,70}(;[a-z0-9-]{1,10})?$/),
  );

  it('contains no value of an entry', () => {
    const secret = fc.stringMatching(/^[a-z]{12}$/);
    fc.assert(
      fc.property(
        fc.dictionary(name, fc.array(secret, { minLength: 1, maxLength: 3 }), { minKeys: 1 }),
        (found) => {
          const anna = entry(dnOf('anna'), { ...found, ...PERSON });
          const club = entry(`cn=club,ou=groups,${BASE_DN}`, { ...found, ...GROUP });
          const text = suggestModel(evidenceOf([anna], [club])).toLowerCase();
          const names = Object.keys(found).join(' ').toLowerCase();
          for (const each of Object.values(found).flat())
            expect(names.includes(each) || !text.includes(each)).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });
});
