import type { DirectoryMapping } from '../../config/model/mapping.js';
import { ServiceError } from '../../common/errors.js';
import { escapeDnValue } from '../../ldap/naming/dn.js';
import type { AddRecord, AttributeValues, ChangeRecord } from '../../ldap/ldif/ldif-record.js';
import {
  auxiliaryClassOfGroups,
  isSame,
  type ChangedEntry,
  type OriginalGroup,
  type OriginalReference,
} from '../stored-entry.js';
import {
  changeNames,
  nameIn,
  type NamedSubject,
  needsMember,
  NOT_NAMED,
} from '../memberships/membership-record.js';
import { changeTexts, textChangesOf } from '../text-record.js';
import type { FieldChanges, NewGroup } from '../validate.js';

type GroupMapping = DirectoryMapping['groups'];

/**
 * Builds the record that changes texts of a group (pure).
 * @throws ServiceError as changeTexts does
 */
export function changeGroup(group: OriginalGroup, change: FieldChanges, mapping: GroupMapping): ChangedEntry {
  return changeTexts(group, auxiliaryClassOfGroups(mapping), textChangesOf(mapping.fields, group, change));
}

export function dnOfNewGroup(id: string, mapping: GroupMapping): string {
  return `${mapping.namingAttribute ?? mapping.id}=${escapeDnValue(id)},${mapping.bases[0] ?? ''}`;
}

/**
 * Builds the record that creates a group (pure).
 * @param creator the user who becomes its owner and first member. Null: the group has no owner; if its
 * class requires a member, the group names itself, which does not count as a member
 * @throws ServiceError CONFLICT when the directory uses the id as the name and the two differ
 */
export function buildNewGroup(
  group: NewGroup,
  creator: NamedSubject | null,
  mapping: GroupMapping,
): AddRecord {
  const dn = dnOfNewGroup(group.id, mapping);
  const [nameAttribute = ''] = mapping.name;
  if (isSame(nameAttribute, mapping.id) && group.name !== group.id) {
    throw new ServiceError('CONFLICT', 'In this directory the name of a group is its id', {
      argument: 'name',
    });
  }
  const others = mapping.fields.filter(({ name, change }) => name !== 'name' && change !== undefined);
  const placeholder = needsMember(mapping) && mapping.members.by === 'dn' ? dn : null;
  const texts: (readonly [attribute: string, value: string | null])[] = [
    [mapping.id, group.id],
    [nameAttribute, group.name],
    // Every class of groups requires it (RFC 4519 §3.5), regardless of the attribute that holds the id.
    ['cn', isSame(nameAttribute, 'cn') ? null : group.id],
    ...others.map(({ name, attribute }) => [attribute, group[name] ?? null] as const),
    ...ownerOf(mapping, creator),
    [mapping.members.attributes[0] ?? '', creator === null ? placeholder : nameIn(mapping.members, creator)],
  ];
  return {
    dn,
    changetype: 'add',
    attributes: [{ attribute: 'objectClass', values: mapping.classes }, ...joined(texts)],
  };
}

/** A directory without an attribute for owners has groups without them. */
function ownerOf({ owners }: GroupMapping, creator: NamedSubject | null) {
  const [attribute] = owners.attributes;
  return attribute === undefined || creator === null ? [] : [[attribute, nameIn(owners, creator)] as const];
}

/**
 * Builds the records that delete a group (pure): first those that remove its DN from other groups, then the
 * one that deletes the entry.
 * @throws ServiceError CONFLICT when another group would be left without members, which its class does not
 * allow
 */
export function buildGroupDeletion(
  group: OriginalGroup,
  references: readonly OriginalReference[],
  mapping: GroupMapping,
): ChangeRecord[] {
  const named = { dn: group.dn, uuid: group.uuid, id: null };
  const others = references.map(
    ({ group: other, namedAs }) => changeNames(other, named, namedAs, NOT_NAMED, mapping).record,
  );
  return [...others, { dn: group.dn, changetype: 'delete' }];
}

/**
 * Returns the texts that have a value. An attribute that occurs twice is returned once, with each of its
 * values.
 */
function joined(texts: readonly (readonly [attribute: string, value: string | null])[]): AttributeValues[] {
  const attributes: { attribute: string; values: string[] }[] = [];
  for (const [attribute, value] of texts) {
    if (value === null) continue;
    const earlier = attributes.find((each) => isSame(each.attribute, attribute));
    if (earlier === undefined) attributes.push({ attribute, values: [value] });
    else if (!earlier.values.includes(value)) earlier.values.push(value);
  }
  return attributes;
}
