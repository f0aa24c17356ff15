import { type Field, mappedFields } from '../../common/field.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { attributesOfFilter, type Filter, parseFilter } from '../../ldap/filter/filter-parser.js';
import type { SearchRequest } from '../../ldap/client/requests.js';
import { DYNAMIC_ATTRIBUTES } from './dynamic-group.js';
import type { EntryKind } from '../source.js';

/** The attribute that OpenLDAP updates with every change of an entry. Other servers do not have it. */
export const ENTRY_CSN = 'entryCSN';

/** Object classes of containers. */
const CONTAINERS = ['organizationalUnit', 'organization', 'locality', 'domain', 'dcObject', 'container'];

/** The searches for people and for groups, with all mapped attributes. */
export function searchesOf({ users, groups }: DirectoryMapping): Readonly<Record<EntryKind, SearchRequest>> {
  const { member, admin, owner } = groups;
  const named = [member, admin, owner, ...DYNAMIC_ATTRIBUTES];
  return {
    person: searchOf(users, attributesOf(users.fields), users.rules),
    group: searchOf(
      groups,
      [...attributesOf(groups.fields), ...named],
      [...groups.rules, ...groups.memberRules],
    ),
  };
}

export function containersBelow(base: string): SearchRequest {
  const filters = CONTAINERS.map((value) => isEqual('objectClass', Buffer.from(value)));
  return { base, scope: 'sub', filter: { kind: 'or', filters }, attributes: ['entryUUID'] };
}

export function isEqual(attribute: string, value: Buffer): Filter {
  return { kind: 'equal', attribute, value };
}

function searchOf(
  mapping: DirectoryMapping['users'] | DirectoryMapping['groups'],
  more: readonly string[],
  rules: readonly { readonly where: string }[],
): SearchRequest {
  const { base, filter, uuid, createdAt, modifiedAt, id, name, disabled } = mapping;
  const filters = [...(disabled === null ? [] : [disabled]), ...rules.map(({ where }) => where)];
  const tested = filters.flatMap((each) => attributesOfFilter(parseFilter(each)));
  const identity = ['objectClass', ENTRY_CSN, uuid, createdAt, modifiedAt, id, ...name];
  const attributes = new Set([...identity, ...tested, ...more]);
  return { base, scope: 'sub', filter: parseFilter(filter), attributes: [...attributes] };
}

function attributesOf(fields: readonly Field[]): string[] {
  return mappedFields(fields).flatMap(({ attributes }) => attributes);
}
