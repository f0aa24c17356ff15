import { builtInConfig } from '../support/builders/built-in-config.js';
import { LdapConnection } from '../../src/ldap/client/ldap-connection.js';
import type { Entry } from '../../src/ldap/entry.js';
import { keyOfDn } from '../../src/ldap/naming/identifiers.js';
import { mapGroup } from '../../src/mirror/map/map.js';
import { groupDn, personDn } from '../support/builders/directory.js';
import { readEntries } from '../support/builders/read-entries.js';
import { MANAGER, TestDirectory389 } from '../support/servers/directory-389.js';
import { MIRROR_DN, MIRROR_PASSWORD, startSlapd, SUFFIX } from '../support/servers/slapd.mjs';

const GROUPS = `ou=groups,${SUFFIX}`;
const { groups } = builtInConfig().directory.mapping;
const members = [{ attributes: ['member', 'uniqueMember'], by: 'dn' }] as const;

const MIXED = [
  `dn: ${groupDn('mixed')}`,
  'objectClass: groupOfUniqueNames',
  'objectClass: extensibleObject',
  'cn: mixed',
  `member: ${personDn('ann')}`,
  `member: ${personDn('both')}`,
  `uniqueMember: ${personDn('both')}`,
  `uniqueMember: ${personDn('ben')}`,
  `uniqueMember: ${personDn('cleo')}#'0101'B`,
  '',
].join('\n');

/** Reads the keys of the members of the group, after the server has accepted it. */
async function readMembers(connection: LdapConnection): Promise<string[]> {
  try {
    const [entry] = await readEntries(connection, GROUPS, '(cn=mixed)', ['*', '+']);
    const { value, quarantined } = mapGroup(entry as Entry, { ...groups, members });
    expect(quarantined).toEqual([]);
    return [...(value?.references.keys() ?? [])].sort();
  } finally {
    connection.close();
  }
}

const EXPECTED = ['ann', 'ben', 'both', 'cleo'].map((id) => keyOfDn(personDn(id))).sort();

describe('members in two attributes, one of them with identifiers,', () => {
  it('are read from slapd', async () => {
    const slapd = await startSlapd({ ldif: MIXED });
    try {
      const account = { bindDn: MIRROR_DN, bindPassword: MIRROR_PASSWORD };
      const server = { host: '127.0.0.1', port: slapd.port, tls: 'none' } as const;
      expect(await readMembers(await LdapConnection.connect({ ...server, ...account }))).toEqual(EXPECTED);
    } finally {
      await slapd.remove();
    }
  });

  it('are read from 389 Directory Server', async () => {
    const server = await TestDirectory389.start();
    try {
      const container = `dn: ${GROUPS}\nchangetype: add\nobjectClass: organizationalUnit\n`;
      const ldif = [container, MIXED.replace('\n', '\nchangetype: add\n')].join('\n');
      expect((await server.modify(ldif)).stderr).toBe('');
      const account = { bindDn: MANAGER.dn, bindPassword: MANAGER.password };
      const address = { host: '127.0.0.1', port: server.tlsPort, tls: 'ldaps', ca: server.ca } as const;
      expect(await readMembers(await LdapConnection.connect({ ...address, ...account }))).toEqual(EXPECTED);
    } finally {
      await server.remove();
    }
  });
});
