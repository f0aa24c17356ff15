import { Entry } from '../ldap/entry.js';
import { keyOfDn } from '../ldap/naming/identifiers.js';
import { groupKeysOf, namedGroupsOf } from './references.js';

const entry = (dn: string, attributes: Record<string, (string | Buffer)[]>) =>
  new Entry(
    dn,
    Object.entries(attributes).map(([name, values]) => [name, values.map((value) => Buffer.from(value))]),
  );
const sid = (...parts: number[]) => {
  const bytes = Buffer.from('0105000000000005' + '00'.repeat(20), 'hex');
  [21, ...parts].forEach((part, index) => bytes.writeUInt32LE(part, 8 + 4 * index));
  return bytes;
};

describe('the groups that a user names', () => {
  it('are those of all spellings of their DNs, each once', () => {
    const [choir, school] = [keyOfDn('cn=choir,dc=a'), keyOfDn('cn=school,dc=a')];
    const named = (memberOf: (string | Buffer)[]) =>
      namedGroupsOf(entry('uid=ann', { memberOf }), ['memberOf']);
    expect(named(['cn=Choir,dc=a', 'CN=choir, dc=a', 'cn=school,dc=a'])).toEqual([choir, school].sort());
    expect(named(['cn=choir,dc=A', Buffer.of(0xff)])).toEqual([choir]);
    expect(named([])).toEqual([]);
  });

  const groups = {
    staff: entry('cn=staff', { objectSid: [sid(1, 2, 3, 513)] }),
    other: entry('cn=other domain', { objectSid: [sid(9, 9, 9, 514)] }),
    malformed: entry('cn=malformed', { objectSid: ['S-1'] }),
    none: entry('cn=no sid', {}),
  };

  it.each([
    ['of its domain', { objectSid: [sid(1, 2, 3, 1100)], primaryGroupID: ['513'] }, ['staff']],
    ['of another domain', { objectSid: [sid(9, 9, 9, 1100)], primaryGroupID: ['513'] }, []],
    ['that does not exist', { objectSid: [sid(1, 2, 3, 1102)], primaryGroupID: ['514'] }, []],
    ['of a user with a malformed identifier', { objectSid: ['malformed'], primaryGroupID: ['513'] }, []],
    ['of a user without a number', { objectSid: [sid(1, 2, 3, 1103)] }, []],
    ['of a user without an identifier', { primaryGroupID: ['513'] }, []],
  ])('include the primary group %s', (_, attributes, expected) => {
    const named = namedGroupsOf(entry('cn=ann', attributes), ['primaryGroupID']);
    const found = Object.entries(groups).filter(([, group]) =>
      groupKeysOf(group).some((key) => named.includes(key)),
    );
    expect(found.map(([name]) => name)).toEqual(expected);
  });
});
