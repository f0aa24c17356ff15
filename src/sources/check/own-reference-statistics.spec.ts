import type { Field } from '../../common/field.js';
import { builtInConfig } from '../../../test/support/builders/built-in-config.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { entryOf } from '../../../test/support/builders/model-entry.js';
import { OwnReferenceStatistics } from './own-reference-statistics.js';

const { mapping } = builtInConfig().directory;

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

function findingsOf(managers: Readonly<Record<string, string>>, field = manager) {
  const users = { ...mapping.users, fields: [...mapping.users.fields, field] };
  const statistics = new OwnReferenceStatistics({ ...mapping, users });
  for (const [id, named] of Object.entries(managers)) {
    const entry = entryOf(dnOf(id), { uid: [id], manager: [named] });
    statistics.add('person', entry, { uuid: id, dnKey: keyOfDn(dnOf(id)), id });
  }
  return [...statistics.findings()].map(({ result, text }) => [
    result,
    (text ?? '').split(': ').slice(0, 2).join(': '),
  ]);
}

describe('the references of own fields in a check', () => {
  it('are counted, and reported where more than a fifth name no entry', () => {
    const five = { a: dnOf('b'), b: dnOf('a'), c: 'UID=A, ou=people,dc=example,dc=org', d: dnOf('a') };
    expect(findingsOf({ ...five, e: dnOf('nobody') })).toEqual([
      ['ok', 'users.manager: 4 of 5 values name a mirrored user'],
    ]);
    expect(findingsOf({ ...five, d: dnOf('other'), e: dnOf('nobody') })).toEqual([
      ['warning', 'users.manager: 3 of 5 values name a mirrored user'],
    ]);
  });
});
