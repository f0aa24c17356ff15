import { builtInConfig } from '../../../test/support/builders/built-in-config.js';
import { entryOf } from '../../../test/support/builders/model-entry.js';
import { modelSetting } from '../../../test/support/builders/model-file.js';
import type { Field } from '../../common/field.js';
import { readConfig } from '../../config/config.js';
import { Entry } from '../../ldap/entry.js';
import { CountedEntries } from './counted-entries.js';

const entry = (dn: string, attributes: Record<string, (string | Buffer)[]>) =>
  new Entry(
    dn,
    Object.entries({ cn: [dn], ...attributes }).map(([name, values]) => [
      name,
      values.map((value) => Buffer.from(value)),
    ]),
  );

function findingsOf(groups: readonly Entry[]): string[] {
  const entries = new CountedEntries(builtInConfig().directory);
  for (const group of groups) entries.add('group', group);
  return entries
    .findings()
    .filter(({ what }) => what === 'members')
    .map(({ result, what, text }) => `${result} ${what}: ${text ?? ''}`);
}

describe('a check of members', () => {
  it('names the attribute of groups that is not read, and what to set', () => {
    const posix = entry('cn=a', { memberUid: ['ann'] });
    expect(findingsOf([posix, entry('cn=b', {})])).toEqual([
      'warning members: memberUid is not read, and alone names the members of 1 group: add {attribute: memberUid, by: id} to groups.members',
    ]);
    const both = entry('cn=c', { member: ['uid=a'], uniqueMember: ['uid=b'] });
    expect(findingsOf([both])).toEqual([]);
    expect(findingsOf([both, entry('cn=d', { uniqueMember: ['uid=b'] })])).toEqual([
      'warning members: uniqueMember is not read, and alone names the members of 1 group: add {attribute: uniqueMember, by: dn} to groups.members',
    ]);
    expect(findingsOf([both, posix])).toEqual([
      expect.stringContaining('add {attribute: memberUid, by: id} to groups.members'),
    ]);
  });
});

type Attributes = Record<string, string[]>;

/** A file that changes nothing. */
const BUILT_IN = '# The built-in model.';

function quarantineOf(
  people: readonly Attributes[],
  groups: readonly Attributes[] = [],
  model = BUILT_IN,
): string[] {
  const entries = new CountedEntries(readConfig(modelSetting(model)).directory);
  for (const [index, each] of people.entries())
    entries.add('person', entryOf(`uid=u${index},ou=people,dc=example,dc=org`, each));
  for (const [index, each] of groups.entries())
    entries.add('group', entryOf(`cn=g${index},ou=groups,dc=example,dc=org`, each));
  return (['person', 'group'] as const)
    .filter((kind) => entries.totalOf(kind) > 0)
    .flatMap((kind) => [...entries.describe(kind)])
    .filter(({ result }) => result !== 'ok')
    .map(({ what, result, text }) => `${result} ${what}: ${text ?? ''}`);
}

const person = (id: string, attributes: Attributes = {}): Attributes => ({
  uid: [id],
  cn: [id],
  ...attributes,
});
const PEOPLE = ['a', 'b', 'c', 'd', 'e'].map((id) => person(id));

describe('entries that would be quarantined', () => {
  it('are none in a sound directory, and are reported however few they are, with each cause', () => {
    expect(quarantineOf(PEOPLE, [{ cn: ['club'] }])).toEqual([]);
    expect(quarantineOf([...PEOPLE, {}, {}, { uid: ['f'] }])).toEqual([
      'warning users: 3 of 8 entries would be quarantined: an entry has no usable uid, which is its id (2), or has no usable displayName or cn, which is its name (1). Set users.id to an attribute that each entry has',
    ]);
  });

  it('are not reported if up to a fifth of the values of an attribute do not fit', () => {
    const model = 'users: {fields: {desk: {attribute: roomNumber, type: Int, description: The desk.}}}';
    const desks = ['1', '2', '3', '4'].map((desk) => person(`desk-${desk}`, { roomNumber: [desk] }));
    expect(quarantineOf([...desks, person('f', { roomNumber: ['12b'] })], [], model)).toEqual([]);
  });

  it.each<[string, Attributes[], Attributes[], string, string]>([
    [
      'all without the id',
      PEOPLE,
      [],
      'users: {id: employeeNumber}',
      'problem users: all 5 entries would be quarantined: an entry has no usable employeeNumber, which is its id (5). Set users.id to an attribute that each entry has',
    ],
    [
      'values that do not fit their type',
      [...PEOPLE, person('f', { roomNumber: ['12b'] }), person('g', { roomNumber: ['3'] })],
      [],
      'users: {fields: {desk: {attribute: roomNumber, type: Int, description: The desk.}}}',
      'warning users: roomNumber of 1 of the 2 entries that have it would be quarantined: it is not a whole number. Set users.fields.desk.type to the type of its values, such as String',
    ],
    [
      'members that are not named in this way',
      [],
      [{ cn: ['club'], member: ['uid=a,dc=example,dc=org'] }],
      'groups: {members: {attribute: member, by: uuid}}',
      'warning groups: member of 1 of the 1 entries that have it would be quarantined: it has 1 values that are not UUIDs. Set by of the role in groups to what its values are: dn, id or uuid',
    ],
  ])('are reported: %s', (_, people, groups, model, expected) => {
    expect(quarantineOf(people, groups, model)).toEqual([expected]);
  });
});

const { directory } = builtInConfig();
const { mapping } = directory;

const manager: Field = {
  name: 'manager',
  type: 'User',
  description: 'The manager.',
  attributes: ['manager'],
  attribute: 'manager',
  reader: 'reference',
  column: null,
  reference: { to: 'user', reverse: 'reports' },
};

const dnOf = (id: string) => `uid=${id},ou=people,dc=example,dc=org`;

const club = 'cn=club,ou=groups,dc=example,dc=org';
const managingGroup: Field = { ...manager, type: '[Group!]!', reference: { to: 'group', reverse: null } };

/** Users with one value each, and a group. */
function referencesOf(managers: Readonly<Record<string, string>>, field = manager) {
  const users = { ...mapping.users, fields: [...mapping.users.fields, field] };
  const entries = new CountedEntries({ ...directory, mapping: { ...mapping, users } });
  for (const [id, named] of Object.entries(managers))
    entries.add('person', entryOf(dnOf(id), { uid: [id], cn: [id], manager: [named] }));
  entries.add('group', entryOf(club, { cn: ['club'] }));
  return entries
    .findings()
    .filter(({ what }) => what === 'references')
    .map(({ result, text }) => [
      result,
      (text ?? '').split(': ').slice(0, 2).join(': '),
      /: set .*/.exec(text ?? '')?.[0] ?? null,
    ]);
}

describe('the references of custom fields in a check', () => {
  it('are counted, and reported where more than a fifth name no entry', () => {
    const five = { a: dnOf('b'), b: dnOf('a'), c: 'UID=A, ou=people,dc=example,dc=org', d: dnOf('a') };
    expect(referencesOf({ ...five, e: dnOf('nobody') })).toEqual([
      ['ok', 'users.manager: 4 of 5 values name a mirrored user', null],
    ]);
    expect(referencesOf({ ...five, d: dnOf('other'), e: dnOf('nobody') })).toEqual([
      [
        'warning',
        'users.manager: 3 of 5 values name a mirrored user',
        expect.stringMatching(/^: set users.filter/),
      ],
    ]);
  });

  it('need another type if they all name entries of the other kind', () => {
    expect(referencesOf({ a: club, b: club })).toEqual([
      [
        'warning',
        'users.manager: 0 of 2 values name a mirrored user, and 2 a mirrored group',
        ': set users.fields.manager.type to Group, because its values name groups',
      ],
    ]);
    expect(referencesOf({ a: dnOf('a') }, managingGroup)).toEqual([
      [
        'warning',
        expect.any(String),
        ': set users.fields.manager.type to "[User!]!", because its values name users',
      ],
    ]);
  });
});
