import { hash } from 'node:crypto';
import { foldId, isUuid, LONGEST_ID } from '../common/identity.js';
import { inOneLine } from '../common/printable.js';
import { type DirectoryMapping, formsOf, NAMED_BY, type NamedBy } from '../config/model/mapping.js';
import { formatUuid, keyOfDn, parseSid, primaryGroupSid } from '../ldap/naming/identifiers.js';
import { decodeUtf8, type Entry } from '../ldap/entry.js';
import { dnOfNameAndUid, UNIQUE_MEMBER } from '../ldap/naming/dn.js';
import type { EntryKind } from './directory.js';

/** A sum of roles: 1 member, 2 admin, 4 owner. */
export type RoleSum = number;

/**
 * The attributes of a group that name an entry, as a sum: their roles, where they name it by DN; by id eight times as much, and by
 * entryUUID eight times as much as by id.
 */
export type NamedAs = number;

export const NAMED_AS_MEMBER = 1;
export const NAMED_AS_ADMIN = 2;
export const NAMED_AS_OWNER = 4;
const NAMED_AS_EACH = NAMED_AS_MEMBER | NAMED_AS_ADMIN | NAMED_AS_OWNER;

const FACTORS: Readonly<Record<NamedBy, number>> = { dn: 1, id: 8, uuid: 64 };

/** The attributes of roles that name entries in one way. */
export function namedBy(by: NamedBy, roles: RoleSum): NamedAs {
  return roles * FACTORS[by];
}

/** The attributes of roles that name entries in any way. */
export function namedByAny(roles: RoleSum): NamedAs {
  return NAMED_BY.reduce((sum, by) => sum | namedBy(by, roles), 0);
}

export const NAMED_AS_ANYTHING = namedByAny(NAMED_AS_EACH);

export function rolesOfNaming(namedAs: NamedAs): RoleSum {
  return NAMED_BY.reduce((sum, by) => sum | (Math.floor(namedAs / FACTORS[by]) & NAMED_AS_EACH), 0);
}

/** Returns the rank of the highest of the roles that an entry is named for: 1 member, 2 admin, 3 owner. */
export function rankOfNaming(namedAs: NamedAs): 1 | 2 | 3 {
  const roles = rolesOfNaming(namedAs);
  return roles >= NAMED_AS_OWNER ? 3 : roles >= NAMED_AS_ADMIN ? 2 : 1;
}

/** The ways in which groups of a directory name entries. */
export function waysOfNaming(groups: DirectoryMapping['groups']): NamedBy[] {
  const forms = formsOf(groups);
  return NAMED_BY.filter((by) => forms.some((form) => form.by === by));
}

/**
 * The key of what a value of a group names: keyOfDn of a DN; `id:` and the folded id of a user; `uuid:` and the entryUUID.
 * @returns null if the value can name no entry
 */
export function referenceKeyOf(by: NamedBy, value: string): string | null {
  if (by === 'dn') return keyOfDn(value);
  // As ids are read.
  const text = inOneLine(value).trim();
  if (by === 'id') return text === '' || text.length > LONGEST_ID ? null : `id:${foldId(text)}`;
  const uuid = text.toLowerCase();
  return isUuid(uuid) ? `uuid:${uuid}` : null;
}

/** The name in a value of a group: a UUID of 16 bytes, or UTF-8, of uniqueMember without the identifier. Null: it is no text. */
export function nameInValue(attribute: string, by: NamedBy, value: Buffer): string | null {
  const text = by === 'uuid' && value.length === 16 ? formatUuid(value.toString('hex')) : decodeUtf8(value);
  const isUnique = attribute.toLowerCase() === UNIQUE_MEMBER;
  return isUnique && text !== null ? dnOfNameAndUid(text) : text;
}

/** The key as the mirror stores it, a UUID: that of a DN, or a hash with a character before it that no DN contains. */
export function storedKeyOf(key: string): string {
  return /^(?:id|uuid|sid):/.test(key) ? formatUuid(hash('sha256', `\0${key}`, 'hex').slice(0, 32)) : key;
}

/** What identifies an entry. */
export interface Identified {
  readonly uuid: string;
  /** See keyOfDn. */
  readonly dnKey: string;
  readonly id: string;
}

/** The keys (referenceKeyOf) by which groups name an entry in some ways. An id names only users: a group can have the same one. */
export function keysOfEntry(
  kind: EntryKind,
  { uuid, dnKey, id }: Identified,
  ways: readonly NamedBy[],
): string[] {
  const keys = { dn: dnKey, uuid: `uuid:${uuid}`, id: kind === 'person' ? `id:${foldId(id)}` : null };
  return ways.flatMap((by) => keys[by] ?? []);
}

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

/** Whether users name their groups, and not only by the number of their primary group, which is their own value. */
export const namesGroups = ({ memberOf = [] }: DirectoryMapping['users']) => !memberOf.every(isPrimaryGroup);

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
