import type { DirectoryMapping, MemberForm } from '../../config/model/mapping.js';
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
  requiredForm,
} from '../memberships/membership-record.js';
import { formForNewName, lacksAttribute, memberAttributesIn } from '../object-classes.js';
import { changeTexts, textChangesOf } from '../text-record.js';
import type { FieldChanges, NewGroup } from '../validate.js';

type GroupMapping = DirectoryMapping['groups'];

/**
 * Builds the record that changes texts of a group (pure).
 * @throws ServiceError as changeTexts does
 */
export function changeGroup(
  group: OriginalGroup,
  values: Readonly<Record<string, unknown>>,
  change: FieldChanges,
  mapping: GroupMapping,
): ChangedEntry {
  const texts = textChangesOf(mapping.fields, values, change);
  return changeTexts(group, auxiliaryClassOfGroups(mapping), texts, mapping);
}

export function dnOfNewGroup(id: string, mapping: GroupMapping): string {
  return `${namingAttributeOf(mapping)}=${escapeDnValue(id)},${mapping.bases[0] ?? ''}`;
}

function namingAttributeOf({ namingAttribute, id }: GroupMapping): string {
  return namingAttribute ?? id;
}

/**
 * Builds the record that creates a group (pure).
 * @param creator the user who becomes its owner and first member. Null: the group has no owner; if its
 * class requires a member, the group names itself, which does not count as a member
 * @throws ServiceError CONFLICT when the directory uses the id as the name and the two differ, or its classes of groups have no
 * attribute for a value
 */
export function buildNewGroup(
  group: NewGroup,
  creator: NamedSubject | null,
  mapping: GroupMapping,
): AddRecord {
  const dn = dnOfNewGroup(group.id, mapping);
  const nameAttribute = nameAttributeOf(group, mapping);
  const texts: (readonly [attribute: string, value: string | null])[] = [
    [mapping.id, group.id],
    ...(nameAttribute === null ? [] : [[nameAttribute, group.name] as const]),
    // Every class of groups requires it (RFC 4519 §3.5), regardless of the attribute that holds the id.
    ['cn', isSame(nameAttribute ?? '', 'cn') ? null : group.id],
    ...otherTextsOf(group, mapping),
    // A directory without an attribute for owners has groups without them.
    ...(creator === null ? [] : nameOf(creator, mapping.owners, mapping)),
    ...memberOf(dn, creator, mapping),
  ];
  return {
    dn,
    changetype: 'add',
    attributes: [{ attribute: 'objectClass', values: mapping.classes }, ...joined(texts)],
  };
}

/** Returns the attribute to which the name is written. Null: the name is read from an attribute that has the id. */
function nameAttributeOf(group: NewGroup, mapping: GroupMapping): string | null {
  const [attribute = '', ...others] = mapping.name;
  const isId = [mapping.id, namingAttributeOf(mapping)].some((each) => isSame(each, attribute));
  const isInId = others.some((each) => isSame(each, 'cn') || isSame(each, mapping.id));
  const isAbsent = isInId && lacksAttribute(mapping.classes, attribute);
  if ((isId || isAbsent) && group.name !== group.id)
    throw conflict('In this directory the name of a group is its id', 'name');
  return isAbsent ? null : attribute;
}

function otherTextsOf(group: NewGroup, { fields, classes }: GroupMapping) {
  const others = fields.filter(({ name, change }) => name !== 'name' && change !== undefined);
  return others.map(({ name, attribute }) => {
    const value = group[name] ?? null;
    if (value !== null && lacksAttribute(classes, attribute))
      throw conflict(`The classes of new groups have no attribute ${attribute} for ${name}`, name);
    return [attribute, value] as const;
  });
}

function conflict(message: string, argument: string): ServiceError {
  return new ServiceError('CONFLICT', message, { argument });
}

/** The first member: the creator, or the group itself if its class requires a member. */
function memberOf(dn: string, creator: NamedSubject | null, mapping: GroupMapping) {
  const required = needsMember(mapping) ? requiredForm(mapping) : undefined;
  if (creator !== null)
    return nameOf(creator, required === undefined ? mapping.members : [required], mapping);
  return required?.by === 'dn' ? nameOf({ dn, uuid: '', id: null }, [required], mapping) : [];
}

/** The value that names an entry in the first of the forms that a new group can have. */
function nameOf(subject: NamedSubject, forms: readonly MemberForm[], { classes }: GroupMapping) {
  const form = formForNewName(classes, forms, subject.id === null ? 'group' : 'person');
  if (form === undefined) return [];
  const [attribute = ''] = memberAttributesIn(classes, form);
  return [[attribute, nameIn(form.by, subject)] as const];
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
