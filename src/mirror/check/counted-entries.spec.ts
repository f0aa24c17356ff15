import { builtInConfig } from '../../../test/support/builders/built-in-config.js';
import { configFor } from '../../config/config.js';
import { Entry } from '../../ldap/entry.js';
import { CountedEntries } from './counted-entries.js';

const entry = (dn: string, attributes: Record<string, (string | Buffer)[]>) =>
  new Entry(
    dn,
    Object.entries({ cn: [dn], sAMAccountName: [dn], ...attributes }).map(([name, values]) => [
      name,
      values.map((value) => Buffer.from(value)),
    ]),
  );
const sid = (rid: number) => {
  const bytes = Buffer.from('0105000000000005' + '00'.repeat(20), 'hex');
  [21, 1, 2, 3, rid].forEach((part, index) => bytes.writeUInt32LE(part, 8 + 4 * index));
  return bytes;
};

async function findingsOf(
  server: 'openldap' | 'samba',
  users: readonly Entry[],
  groups: readonly Entry[],
): Promise<string[]> {
  const entries = new CountedEntries(configFor(builtInConfig(), server).directory);
  for (const user of users) entries.add('person', user);
  for (const group of groups) entries.add('group', group);
  const findings = await entries.findings(null);
  return findings
    .filter(({ what }) => what === 'members')
    .map(({ result, what, text }) => `${result} ${what}: ${text ?? ''}`);
}

describe('a check of members', () => {
  it('names the attribute of groups that is not read, and what to set', async () => {
    const posix = entry('cn=a', { memberUid: ['ann'] });
    expect(await findingsOf('openldap', [], [posix, entry('cn=b', {})])).toEqual([
      'warning members: memberUid is not read, and alone names the members of 1 group: set groups.members to {attribute: memberUid, by: id}',
    ]);
    const both = entry('cn=c', { member: ['uid=a'], uniqueMember: ['uid=b'] });
    expect(await findingsOf('openldap', [], [both])).toEqual([]);
    expect(await findingsOf('openldap', [], [both, entry('cn=d', { uniqueMember: ['uid=b'] })])).toEqual([
      'warning members: uniqueMember is not read, and alone names the members of 1 group: set groups.members to {attribute: [member, uniqueMember], by: dn}',
    ]);
    expect(await findingsOf('openldap', [], [both, posix])).toEqual([
      expect.stringContaining(
        'set groups.members to [{attribute: member, by: dn}, {attribute: memberUid, by: id}]',
      ),
    ]);
  });

  it('counts members of other domains', async () => {
    const dn = 'CN=S-1-5-21-9,CN=ForeignSecurityPrincipals,DC=a';
    expect(await findingsOf('samba', [], [entry('cn=a', { member: [dn, 'cn=b'] })])).toEqual([
      'warning members: 1 foreign security principal among the members: users and groups of other domains are not mirrored',
    ]);
  });

  it('counts users whose primary group is not mirrored', async () => {
    const users = [513, 513, 514].map((rid, index) =>
      entry(`cn=${index}`, { objectSid: [sid(1000 + index)], primaryGroupID: [String(rid)] }),
    );
    const group = entry('cn=guests', { objectSid: [sid(514)] });
    expect(await findingsOf('samba', users, [group])).toEqual([
      expect.stringContaining(
        'primaryGroupID of users: 2 values with the name of a group that is not mirrored (1 group)',
      ),
    ]);
    expect(await findingsOf('samba', users, [group, entry('cn=users', { objectSid: [sid(513)] })])).toEqual(
      [],
    );
  });
});
