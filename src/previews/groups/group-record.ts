import type { DirectoryMapping } from '../../config/settings/directory.js';
import { ServiceError } from '../../common/errors.js';
import { escapeDnValue } from '../../ldap/naming/dn.js';
import type { AddRecord, AttributeValues, ChangeRecord } from '../../ldap/ldif/ldif-record.js';
import { LONGEST_TEXT } from '../../mirror/map/map.js';
import { auxiliaryClassOfGroups, isSame } from '../auxiliary-class.js';
import { changeNames, needsMember, NOT_NAMED } from '../memberships/membership-record.js';
import type { ChangedEntry, StoredGroup, StoredReference } from '../stored-entry.js';
import { changeTexts, type TextChange } from '../text-record.js';
import type { GroupChange, NewGroup } from '../validate.js';

type GroupMapping = DirectoryMapping['groups'];

/**
 * Changes texts of a group (pure).
 * @throws ServiceError as changeTexts does
 */
export function changeGroup(group: StoredGroup, change: GroupChange, mapping: GroupMapping): ChangedEntry {
  const text = (argument: keyof GroupChange, attribute: string): TextChange => ({
    argument,
    attribute,
    shown: group[argument],
    wanted: change[argument],
  });
  return changeTexts(group, auxiliaryClassOfGroups(mapping), [
    text('name', mapping.name[0] ?? ''),
    text('description', mapping.description),
    { ...text('website', mapping.website), write: keepLabel },
    text('email', mapping.email),
  ]);
}

/** The DN of a group that is made anew. */
export function dnOfNewGroup(id: string, mapping: GroupMapping): string {
  return `${mapping.id}=${escapeDnValue(id)},${mapping.base}`;
}

/**
 * The record that makes a group (pure).
 * @param creator DN of the person who becomes its owner and first member; null: nobody does, and where the class
 *   wants a member the group names itself, which counts as nobody
 * @throws ServiceError CONFLICT when the directory shows the id as the name, and the two differ
 */
export function buildNewGroup(group: NewGroup, creator: string | null, mapping: GroupMapping): AddRecord {
  const dn = dnOfNewGroup(group.id, mapping);
  const [nameAttribute = ''] = mapping.name;
  if (isSame(nameAttribute, mapping.id) && group.name !== group.id) {
    throw new ServiceError('CONFLICT', 'In this directory the name of a group is its id', {
      argument: 'name',
    });
  }
  const texts = [
    [mapping.id, group.id],
    [nameAttribute, group.name],
    // Every class of groups wants one (RFC 4519 §3.5), whichever attribute has the id.
    ['cn', isSame(nameAttribute, 'cn') ? null : group.id],
    [mapping.description, group.description],
    [mapping.website, group.website],
    [mapping.email, group.email],
    [mapping.owner, creator],
    [mapping.member, creator ?? (needsMember(mapping) ? dn : null)],
  ] as const;
  return {
    dn,
    changetype: 'add',
    attributes: [{ attribute: 'objectClass', values: mapping.classes }, ...joined(texts)],
  };
}

/**
 * The records that delete a group (pure): whatever names it does not any more, and then the entry itself.
 * @throws ServiceError CONFLICT when one of those would be left without members, which its class does not allow
 */
export function buildGroupDeletion(
  group: StoredGroup,
  references: readonly StoredReference[],
  mapping: GroupMapping,
): ChangeRecord[] {
  const others = references.map(
    ({ group: other, namedAs }) => changeNames(other, group.dn, namedAs, NOT_NAMED, mapping).record,
  );
  return [...others, { dn: group.dn, changetype: 'delete' }];
}

/** RFC 2079: a label follows the URL. It stays, unless there is no room for it. */
function keepLabel(url: string, [before = '']: readonly string[]): string {
  const [label = ''] = / .*$/s.exec(before.trim()) ?? [];
  return url.length + label.length <= LONGEST_TEXT ? url + label : url;
}

/** The texts that are there; an attribute that is meant twice comes once, with each of its values. */
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
