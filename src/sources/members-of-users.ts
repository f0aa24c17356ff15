import { decodeUtf8, type Entry } from '../ldap/entry.js';
import { keyOfDn } from '../ldap/naming/dn-key.js';
import { parseSid, primaryGroupSid } from '../ldap/naming/security-id.js';

/** DNs of users by the key (keyOfDn) of the group whose members they are. */
type MembersByGroup = ReadonlyMap<string, readonly string[]>;

/**
 * Collects the members of groups from an attribute of users, such as memberOf, for an account that may not read the
 * members of groups (pure). Values that are not UTF-8 are omitted.
 */
export function membersByAttribute(users: Iterable<Entry>, attribute: string): MembersByGroup {
  const members = new Map<string, string[]>();
  for (const user of users) {
    const groups = user.bytes(attribute).map(decodeUtf8);
    for (const group of new Set(groups.map((dn) => (dn === null ? null : keyOfDn(dn)))))
      if (group !== null) add(members, group, user.dn);
  }
  return members;
}

/**
 * Collects the users whose primary group a group is (pure): Active Directory stores them neither in `member` of the
 * group nor in `memberOf` of the user. Users whose primary group is not among the groups are omitted.
 */
export function membersByPrimaryGroup(users: Iterable<Entry>, groups: Iterable<Entry>): MembersByGroup {
  const dns = new Map<string, string>();
  for (const group of groups) {
    const [bytes] = group.bytes('objectSid');
    const sid = bytes === undefined ? null : parseSid(bytes);
    if (sid !== null) dns.set(sid, group.dn);
  }
  const members = new Map<string, string[]>();
  for (const user of users) {
    const [sid] = user.bytes('objectSid');
    const [rid = ''] = user.text('primaryGroupID');
    const group = dns.get((sid === undefined ? null : primaryGroupSid(sid, rid)) ?? '');
    if (group !== undefined) add(members, keyOfDn(group), user.dn);
  }
  return members;
}

function add(members: Map<string, string[]>, group: string, dn: string): void {
  const known = members.get(group);
  if (known === undefined) members.set(group, [dn]);
  else known.push(dn);
}
