import type { Field } from '../../common/field.js';
import { builtInConfig } from '../../../test/support/builders/built-in-config.js';
import { entryOf } from '../../../test/support/builders/model-entry.js';
import { CountedEntries } from './counted-entries.js';

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
function findingsOf(managers: Readonly<Record<string, string>>, field = manager) {
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
    expect(findingsOf({ ...five, e: dnOf('nobody') })).toEqual([
      ['ok', 'users.manager: 4 of 5 values name a mirrored user', null],
    ]);
    expect(findingsOf({ ...five, d: dnOf('other'), e: dnOf('nobody') })).toEqual([
      [
        'warning',
        'users.manager: 3 of 5 values name a mirrored user',
        expect.stringMatching(/^: set users.filter/),
      ],
    ]);
  });

  it('do not dangle if they name a mirrored entry of the other kind', () => {
    const both = { a: dnOf('a'), b: club, c: club };
    expect(findingsOf(both)).toEqual([
      ['ok', 'users.manager: 1 of 3 values name a mirrored user, and 2 a mirrored group', null],
    ]);
    expect(findingsOf(both, managingGroup)).toEqual([
      ['ok', 'users.manager: 2 of 3 values name a mirrored group, and 1 a mirrored user', null],
    ]);
    expect(findingsOf({ ...both, d: dnOf('nobody') })).toEqual([
      [
        'warning',
        'users.manager: 1 of 4 values name a mirrored user, and 2 a mirrored group',
        expect.stringMatching(/^: set users.filter/),
      ],
    ]);
  });

  it('need another type if they all name entries of the other kind', () => {
    expect(findingsOf({ a: club, b: club })).toEqual([
      [
        'warning',
        'users.manager: 0 of 2 values name a mirrored user, and 2 a mirrored group',
        ': set users.fields.manager.type to Group, because its values name groups',
      ],
    ]);
    expect(findingsOf({ a: dnOf('a') }, managingGroup)).toEqual([
      [
        'warning',
        expect.any(String),
        ': set users.fields.manager.type to "[User!]!", because its values name users',
      ],
    ]);
  });
});
