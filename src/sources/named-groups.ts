import type { DirectoryMapping } from '../config/model/mapping.js';
import { decodeUtf8, type Entry } from '../ldap/entry.js';
import { keyOfDn } from '../ldap/naming/dn-key.js';
import { parseSid, primaryGroupSid } from '../ldap/naming/security-id.js';
import { storedKeyOf } from './reference-key.js';

/** The attribute with the security identifier of a user or group of Active Directory. */
const OBJECT_SID = 'objectSid';
/** The attribute with the last part of the objectSid of a group, in lower case ([MS-ADA3] 2.120). */
const PRIMARY_GROUP = 'primarygroupid';

/** The attributes of users that name groups, and the attributes of users and groups that this requires. */
export function namingAttributesOf({ memberOf = [] }: DirectoryMapping['users']) {
  const sid = memberOf.some(isPrimaryGroup) ? [OBJECT_SID] : [];
  return { users: [...memberOf, ...sid], groups: sid };
}

/**
 * Returns the keys of the groups that the attributes of a user name (pure): keyOfDn, or a key of their objectSid. Active
 * Directory stores the members of a primary group neither in `member` of the group nor in `memberOf` of the user. Values that
 * name no group are omitted.
 */
export function namedGroupsOf(user: Entry, attributes: readonly string[]): string[] {
  const keys = attributes.flatMap((attribute) =>
    isPrimaryGroup(attribute)
      ? keyOfSid(primaryGroupSidOf(user, attribute))
      : user.bytes(attribute).flatMap((bytes) => keyOfText(decodeUtf8(bytes))),
  );
  return [...new Set(keys)].sort();
}

/** Returns the keys of a group by which users name it, besides that of its DN (pure). */
export function groupKeysOf(group: Entry): string[] {
  const [sid] = group.bytes(OBJECT_SID);
  return keyOfSid(sid === undefined ? null : parseSid(sid));
}

function isPrimaryGroup(attribute: string): boolean {
  return attribute.toLowerCase() === PRIMARY_GROUP;
}

function primaryGroupSidOf(user: Entry, attribute: string): string | null {
  const [sid] = user.bytes(OBJECT_SID);
  const [rid = ''] = user.text(attribute);
  return sid === undefined ? null : primaryGroupSid(sid, rid);
}

function keyOfSid(sid: string | null): string[] {
  return sid === null ? [] : [storedKeyOf(`sid:${sid}`)];
}

function keyOfText(dn: string | null): string[] {
  return dn === null ? [] : [keyOfDn(dn)];
}
