import { mappedFields } from '../../common/field.js';
import { type DirectoryMapping, type EntryMapping, memberAttributesOf } from '../../config/model/mapping.js';
import type { Entry } from '../../ldap/entry.js';
import { attributesOfFilter, type Filter, parseFilter } from '../../ldap/filter/filter-parser.js';
import type { SearchRequest } from '../../ldap/client/requests.js';
import { namingAttributesOf } from '../named-groups.js';
import type { EntryKind } from '../source.js';

/**
 * The attributes that contain the searches of dynamic groups: OpenLDAP returns the subtypes of an attribute
 * with it, and the overlay dynlist accepts only subtypes of labeledURI.
 */
const DYNAMIC_ATTRIBUTES: readonly string[] = ['labeledURI', 'memberURL'];

/** The attribute that OpenLDAP updates with every change of an entry. Other servers do not have it. */
export const ENTRY_CSN = 'entryCSN';

/** Whether an entry has entries below it (X.501). Active Directory does not have it, and limits the classes of parents. */
export const HAS_SUBORDINATES = 'hasSubordinates';

/** Object classes of containers. FreeIPA has one of its own. */
const CONTAINERS =
  'organizationalUnit organization locality country domain dcObject container nsContainer'.split(' ');
const CONTAINER_CLASSES = new Set(CONTAINERS.map((name) => name.toLowerCase()));

/** The searches for people and for groups, with all mapped attributes. */
export function searchesOf(
  { users, groups }: DirectoryMapping,
  baseDn: string,
): Readonly<Record<EntryKind, SearchRequest>> {
  const naming = namingAttributesOf(users);
  const named = [...memberAttributesOf(groups), ...DYNAMIC_ATTRIBUTES, ...naming.groups];
  const ofUsers = [...naming.users, ...(users.photoStamp ?? [])];
  return {
    person: searchOf(users, baseDn, ofUsers, users.rules),
    group: searchOf(groups, baseDn, named, [...groups.rules, ...groups.memberRules]),
  };
}

/** Finds containers, and every other entry that has entries below it. */
export function containersBelow(base: string): SearchRequest {
  const filters = CONTAINERS.map((value) => isEqual('objectClass', Buffer.from(value)));
  filters.push(isEqual(HAS_SUBORDINATES, Buffer.from('TRUE')));
  return { base, scope: 'sub', filter: { kind: 'or', filters }, attributes: ['1.1'] };
}

/** Whether people and groups can be below an entry. */
export function isContainer(entry: Entry): boolean {
  const isParent = entry.text(HAS_SUBORDINATES).some((value) => value.toUpperCase() === 'TRUE');
  return isParent || entry.text('objectClass').some((name) => CONTAINER_CLASSES.has(name.toLowerCase()));
}

export function isEqual(attribute: string, value: Buffer): Filter {
  return { kind: 'equal', attribute, value };
}

function searchOf(
  mapping: EntryMapping,
  baseDn: string,
  more: readonly string[],
  rules: readonly { readonly where: string }[],
): SearchRequest {
  const { bases, filter, uuid, createdAt, modifiedAt, id, name, disabled, fields } = mapping;
  const filters = [...(disabled === null ? [] : [disabled]), ...rules.map(({ where }) => where)];
  const tested = filters.flatMap((each) => attributesOfFilter(parseFilter(each)));
  const identity = ['objectClass', ENTRY_CSN, uuid, createdAt, modifiedAt, id, ...name];
  const mapped = mappedFields(fields).flatMap((field) => field.attributes);
  const attributes = new Set([...identity, ...tested, ...mapped, ...more]);
  // One search finds the entries below several bases, because content synchronization has one state for each search.
  const base = bases.length === 1 ? (bases[0] ?? baseDn) : baseDn;
  return { base, scope: 'sub', filter: parseFilter(filter), attributes: [...attributes] };
}
