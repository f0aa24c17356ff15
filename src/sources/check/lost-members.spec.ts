import { builtInConfig } from '../../../test/support/builders/built-in-config.js';
import { configFor } from '../../config/config.js';
import { Entry } from '../../ldap/entry.js';
import { EntryCounts, lostMemberCounts } from './entry-counts.js';
import { ReferenceStatistics } from './reference-statistics.js';

const entry = (dn: string, attributes: Record<string, (string | Buffer)[]>) =>
  new Entry(
    dn,
    Object.entries(attributes).map(([name, values]) => [name, values.map((value) => Buffer.from(value))]),
  );
const sid = (rid: number) => {
  const bytes = Buffer.from('0105000000000005' + '00'.repeat(20), 'hex');
  [21, 1, 2, 3, rid].forEach((part, index) => bytes.writeUInt32LE(part, 8 + 4 * index));
  return bytes;
};

function findingsOf(kind: 'openldap' | 'samba', users: readonly Entry[], groups: readonly Entry[]): string[] {
  const config = configFor(builtInConfig(), kind).directory;
  const statistics = [new EntryCounts(lostMemberCounts(config.mapping)), new ReferenceStatistics(config)];
  for (const each of statistics) {
    for (const user of users) each.add('person', user);
    for (const group of groups) each.add('group', group);
  }
  return statistics
    .flatMap((each) => [...each.findings()])
    .filter(({ what }) => what === 'members')
    .map(({ result, what, text }) => `${result} ${what}: ${text ?? ''}`);
}

describe('a check of members', () => {
  it('names the attribute of groups that is not read, and what to set', () => {
    const posix = entry('cn=a', { memberUid: ['ann'] });
    expect(findingsOf('openldap', [], [posix, entry('cn=b', {})])).toEqual([
      'warning members: memberUid is not read, and alone names the members of 1 group: set groups.members to read {attribute: memberUid, by: id}, too',
    ]);
    const both = entry('cn=c', { member: ['uid=a'], uniqueMember: ['uid=b'] });
    expect(findingsOf('openldap', [], [both])).toEqual([]);
    expect(findingsOf('openldap', [], [both, entry('cn=d', { uniqueMember: ['uid=b'] })])).toEqual([
      'warning members: uniqueMember is not read, and alone names the members of 1 group: set groups.members to read {attribute: uniqueMember, by: dn}, too',
    ]);
    expect(findingsOf('openldap', [], [both, posix])).toEqual([
      expect.stringContaining('set groups.members to read {attribute: memberUid, by: id}, too'),
    ]);
  });

  it('counts members of other domains', () => {
    const dn = 'CN=S-1-5-21-9,CN=ForeignSecurityPrincipals,DC=a';
    expect(findingsOf('samba', [], [entry('cn=a', { member: [dn, 'cn=b'] })])).toEqual([
      'warning members: 1 foreign security principal among the members: users and groups of other domains are not mirrored',
    ]);
  });

  it('counts users whose primary group is not mirrored', () => {
    const users = [513, 513, 514].map((rid, index) =>
      entry(`cn=${index}`, { objectSid: [sid(1000 + index)], primaryGroupID: [String(rid)] }),
    );
    const group = entry('cn=guests', { objectSid: [sid(514)] });
    expect(findingsOf('samba', users, [group])).toEqual([
      expect.stringContaining(
        'primaryGroupID of users: 2 values with the name of a group that is not mirrored (1 group)',
      ),
    ]);
    expect(findingsOf('samba', users, [group, entry('cn=users', { objectSid: [sid(513)] })])).toEqual([]);
  });
});
