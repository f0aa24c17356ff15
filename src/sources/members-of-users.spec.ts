import { Entry } from '../ldap/entry.js';
import { keyOfDn } from '../ldap/naming/dn-key.js';
import { membersByAttribute, membersByPrimaryGroup } from './members-of-users.js';

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

describe('membersByAttribute', () => {
  it('collects users of groups in all spellings of their DNs, each once', () => {
    const users = [
      entry('uid=ann', { memberOf: ['cn=Choir,dc=a', 'CN=choir, dc=a', 'cn=school,dc=a'] }),
      entry('uid=ben', { memberOf: ['cn=choir,dc=A', Buffer.of(0xff)] }),
      entry('uid=cleo', {}),
    ];
    expect(membersByAttribute(users, 'memberOf')).toEqual(
      new Map([
        [keyOfDn('cn=choir,dc=a'), ['uid=ann', 'uid=ben']],
        [keyOfDn('cn=school,dc=a'), ['uid=ann']],
      ]),
    );
  });
});

describe('membersByPrimaryGroup', () => {
  const groups = [
    entry('cn=staff', { objectSid: [sid(1, 2, 3, 513)] }),
    entry('cn=other domain', { objectSid: [sid(9, 9, 9, 514)] }),
    entry('cn=malformed', { objectSid: ['S-1'] }),
    entry('cn=no sid', {}),
  ];

  it('collects users by the domain and the RID of the group', () => {
    const users = [
      entry('cn=ann', { objectSid: [sid(1, 2, 3, 1100)], primaryGroupID: ['513'] }),
      entry('cn=ben', { objectSid: [sid(1, 2, 3, 1101)], primaryGroupID: ['513'] }),
      entry('cn=cleo', { objectSid: [sid(9, 9, 9, 1100)], primaryGroupID: ['513'] }),
      entry('cn=dora', { objectSid: [sid(1, 2, 3, 1102)], primaryGroupID: ['514'] }),
      entry('cn=emil', { objectSid: ['malformed'], primaryGroupID: ['513'] }),
      entry('cn=finn', { objectSid: [sid(1, 2, 3, 1103)] }),
      entry('cn=gus', { primaryGroupID: ['513'] }),
    ];
    expect(membersByPrimaryGroup(users, groups)).toEqual(
      new Map([[keyOfDn('cn=staff'), ['cn=ann', 'cn=ben']]]),
    );
  });
});
