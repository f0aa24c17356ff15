import { entryOf } from '../../../test/support/builders/model-entry.js';
import { modelSetting } from '../../../test/support/builders/model-file.js';
import { readConfig } from '../../config/config.js';
import { CountedEntries } from './counted-entries.js';

type Attributes = Record<string, string[]>;

/** A file that changes nothing. */
const BUILT_IN = '# The built-in model.';

function findingsOf(
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
    expect(findingsOf(PEOPLE, [{ cn: ['club'] }])).toEqual([]);
    expect(findingsOf([...PEOPLE, {}, {}, { uid: ['f'] }])).toEqual([
      'warning people: 3 of 8 entries would be quarantined: an entry has no usable uid, which is its id (2), or has no usable displayName or cn, which is its name (1). Set users.id to an attribute that each entry has',
    ]);
  });

  it('are not reported if up to a fifth of the values of an attribute do not fit', () => {
    const model = 'users: {fields: {desk: {attribute: roomNumber, type: Int, description: The desk.}}}';
    const desks = ['1', '2', '3', '4'].map((desk) => person(`desk-${desk}`, { roomNumber: [desk] }));
    expect(findingsOf([...desks, person('f', { roomNumber: ['12b'] })], [], model)).toEqual([]);
  });

  it('are none if two have one DN, which is reported however few there are', () => {
    const entries = new CountedEntries(readConfig(modelSetting(BUILT_IN)).directory);
    for (const [index, cn] of ['cn=Anna', 'cn=anna', 'cn=b', 'cn=c'].entries())
      entries.add('group', entryOf(cn, { cn: [`g${index}`] }));
    expect([...entries.describe('group')]).toMatchObject([
      { result: 'ok' },
      {
        result: 'warning',
        text: '1 entry has the DN of another entry if case is ignored, such as cn=anna. References to them name no entry. Rename one of each',
      },
    ]);
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
      'all groups without the name',
      [],
      [{ cn: ['club'] }],
      'groups: {name: [displayName]}',
      'problem groups: all 1 entries would be quarantined: an entry has no usable displayName, which is its name (1). Set groups.name to attributes of which each entry has one',
    ],
    [
      'all that share an id',
      [...PEOPLE, ...PEOPLE],
      [],
      BUILT_IN,
      'problem users: all 10 entries would be quarantined: an entry has the same id as another entry (10). Set users.base or users.filter so that they select each entry once',
    ],
    [
      'some with an entryUUID that is not a UUID',
      [...PEOPLE, person('f', { entryUUID: ['1'] }), person('g', { entryUUID: ['2'] })],
      [],
      BUILT_IN,
      'warning people: 2 of 7 entries would be quarantined: an entry has an entryUUID that is not a UUID (2). Set uuid to the attribute with the permanent id of an entry',
    ],
    [
      'values that do not fit their type',
      [...PEOPLE, person('f', { roomNumber: ['12b'] }), person('g', { roomNumber: ['3'] })],
      [],
      'users: {fields: {desk: {attribute: roomNumber, type: Int, description: The desk.}}}',
      'warning people: roomNumber of 1 of the 2 entries that have it would be quarantined: it is not a whole number. Set users.fields.desk.type to the type of its values, such as String',
    ],
    [
      'members that are not named in this way',
      [],
      [{ cn: ['club'], member: ['uid=a,dc=example,dc=org'] }],
      'groups: {members: {attribute: member, by: uuid}}',
      'warning groups: member of 1 of the 1 entries that have it would be quarantined: it has 1 values that are not UUIDs. Set by of the role in groups to what its values are: dn, id or uuid',
    ],
  ])('are reported: %s', (_, people, groups, model, expected) => {
    expect(findingsOf(people, groups, model)).toEqual([expected]);
  });
});
