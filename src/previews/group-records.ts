import { BadUserInputError, NotFoundError } from '../common/errors.js';
import type { DirectoryMapping, RoleMapping } from '../config/model/mapping.js';
import { GroupRole, rankOf, roleOf } from '../groups/group.model.js';
import { attributeKey } from '../ldap/entry.js';
import type { ChangeRecord } from '../ldap/ldif/ldif-record.js';
import { escapeDnValue } from '../ldap/naming/dn.js';
import { type NamedAs, rankOfNaming } from '../mirror/map/snapshot.js';
import {
  changeValues,
  type ChangedEntry,
  classesOf,
  conflict,
  isSame,
  lacksAttribute,
  memberAttributesIn,
  type MirroredEntry,
} from './records.js';
import type { NewGroup } from './values.js';

type GroupMapping = DirectoryMapping['groups'];

export interface MirroredGroup extends MirroredEntry {
  /** The audience of its members. 0: everyone who may see the group. */
  readonly membersVisibleTo: number;
  /** Number of values that name members, up to two: users, groups, and DNs that name no mirrored entry. */
  readonly memberValues: number;
  /** As for members. */
  readonly ownerValues: number;
}

/** What a group names. */
export type NamedEntry = Pick<MirroredEntry, 'kind' | 'dn' | 'uuid' | 'id'>;

/** The group does not name the entry. */
export const NOT_NAMED: NamedAs = 0;

/** How a user belongs to a group. */
export interface StoredMembership {
  /** The attributes by which the group names the user. */
  readonly namedAs: NamedAs;
  /** The effective role. Null: the user is not a member of the group. */
  readonly role: GroupRole | null;
  /** Whether an attribute of the user names the group: its primary group, for example. */
  readonly isNamedByUser: boolean;
}

export type MembershipChange = 'add' | 'update' | 'remove';

/**
 * The attributes by which a group names a user after a change (pure). With a higher role, those of lower roles stay, so that the
 * group keeps at least one member.
 * @throws ServiceError NOT_FOUND, CONFLICT or BAD_USER_INPUT
 */
export function namingAfter(
  { namedAs, role: effective, isNamedByUser }: StoredMembership,
  change: MembershipChange,
  role: GroupRole,
): NamedAs {
  const isAdded = change === 'add';
  if (isNamedByUser && (isAdded ? role === GroupRole.MEMBER : namedAs === NOT_NAMED))
    throw conflict(
      'The user belongs to the group by an attribute of the user, such as the primary group: it has to be changed instead',
      'user',
    );
  if (isAdded && namedAs !== NOT_NAMED)
    throw conflict(
      `The group names this user already, as ${roleOfNaming(namedAs)}: use updateGroupMember`,
      'user',
    );
  if (!isAdded && namedAs === NOT_NAMED && effective === null)
    throw new NotFoundError('The user is not in the group', 'user');
  if (!isAdded && namedAs === NOT_NAMED)
    throw conflict(
      'The group does not name this user: the user belongs to it through a group inside it, which has to be changed instead',
      'user',
    );
  if (change === 'remove') return NOT_NAMED;
  if (!isAdded && roleOfNaming(namedAs) === role)
    throw new BadUserInputError(`The group names this user as ${role} already`, 'role');
  const naming = 1 << (rankOf(role) - 1);
  return (namedAs & (naming - 1)) | naming;
}

export function roleOfNaming(namedAs: NamedAs): GroupRole {
  return roleOf(rankOfNaming(namedAs));
}

/**
 * Changes how a group names a user or a nested group (pure). Of the attributes of members, those after the change have the values that
 * name this entry only.
 * @throws ServiceError CONFLICT when the group would have no member or a second owner that the directory does not allow, and when the
 * directory has no definite value or attribute for the change
 */
export function changeNames(
  group: MirroredGroup,
  named: NamedEntry,
  before: NamedAs,
  after: NamedAs,
  mapping: DirectoryMapping,
): ChangedEntry {
  const { groups } = mapping;
  const held = rolesOf(before, groups);
  const wanted = rolesOf(after, groups);
  const has = (roles: readonly RoleMapping[], role: RoleMapping) =>
    roles.some((each) => isSameRole(each, role));
  const gone = held.filter((role) => !has(wanted, role));
  const added = wanted.filter((role) => !has(held, role));
  if (has(gone, groups.members) && group.memberValues <= 1 && needsMember(groups))
    throw conflict(
      `The group ${group.id} names no other member that this token can see, and the directory requires at ` +
        'least one: add a member first, or delete the group',
    );
  if (groups.owners.isSingle === true && group.ownerValues > 0 && has(added, groups.owners))
    throw conflict(
      `The group ${group.id} has another owner, and the directory allows one (${groups.owners.attributes.join()}): change the ` +
        'role of that owner first',
      'role',
    );
  const namesIn = (roles: readonly RoleMapping[], isGone = false) =>
    Object.fromEntries(
      roles.map((role) => [attributeOf(role, isGone, group), [nameIn(role, named)]] as const),
    );
  const removed = namesIn(gone, true);
  const present = { ...removed, ...namesIn(wanted.filter((role) => has(held, role))) };
  const attributes = {
    ...group.attributes,
    ...Object.fromEntries(Object.entries(present).map(([name, values]) => [attributeKey(name), values])),
  };
  const emptied = Object.fromEntries(Object.keys(removed).map((attribute) => [attribute, []]));
  return changeValues({ ...group, attributes }, { ...emptied, ...namesIn(added) }, mapping);
}

function rolesOf(namedAs: NamedAs, { members, admins, owners }: GroupMapping): RoleMapping[] {
  const roles = [members, admins, owners];
  return roles.filter((_, index) => (namedAs & (1 << index)) !== 0);
}

function isSameRole(left: RoleMapping, right: RoleMapping): boolean {
  return left.by === right.by && isSame(left.attributes[0] ?? '', right.attributes[0] ?? '');
}

/** The value by which the attributes of a role name an entry. */
function nameIn({ by }: RoleMapping, { kind, dn, id, uuid }: NamedEntry): string {
  if (by !== 'id') return by === 'uuid' ? uuid : dn;
  if (kind === 'person') return id;
  throw conflict('Groups of this directory name users by id, and cannot contain groups');
}

/** Which of several attributes has a value is not known, unless the classes of the group permit only one. */
function attributeOf({ attributes }: RoleMapping, isGone: boolean, group: MirroredGroup): string {
  const possible = memberAttributesIn(classesOf(group), attributes);
  const [attribute, ...others] = possible;
  if (attribute === undefined)
    throw conflict('Groups of this directory have no attribute for this role', 'role');
  if (!isGone || others.length === 0) return attribute;
  throw conflict(`The directory names members in ${possible.join(' or ')}: remove the value there`);
}

/** Whether the class of groups requires at least one member (RFC 4519 §3.5 and §3.6). */
function needsMember({ classes, mayBeEmpty }: GroupMapping): boolean {
  if (mayBeEmpty === true) return false;
  return classes.some((each) => isSame(each, 'groupOfNames') || isSame(each, 'groupOfUniqueNames'));
}

/**
 * The record that deletes a group, behind those that remove its name from other groups (pure).
 * @throws ServiceError CONFLICT when another group would be left without members, which its class does not allow
 */
export function buildGroupDeletion(
  group: MirroredEntry,
  outer: readonly { group: MirroredGroup; namedAs: NamedAs }[],
  mapping: DirectoryMapping,
): ChangeRecord[] {
  const others = outer.map((each) => changeNames(each.group, group, each.namedAs, NOT_NAMED, mapping).record);
  return [...others, { dn: group.dn, changetype: 'delete' }];
}

/**
 * The record that creates a group (pure).
 * @param creator the user who becomes its owner and first member. Null: the group has no owner; if its class requires a member, the
 * group names itself, which does not count as a member
 * @throws ServiceError CONFLICT when the directory uses the id as the name and the two differ, or its classes of groups have no
 * attribute for a value
 */
export function buildNewGroup(
  group: NewGroup,
  creator: NamedEntry | null,
  { groups }: DirectoryMapping,
): ChangedEntry {
  const { classes, id, namingAttribute = id, bases } = groups;
  const dn = `${namingAttribute}=${escapeDnValue(group.id)},${bases[0] ?? ''}`;
  const nameAttribute = nameAttributeOf(group, groups);
  const values: (readonly [attribute: string, value: string])[] = [
    [id, group.id],
    ...(nameAttribute === null ? [] : [[nameAttribute, group.name ?? ''] as const]),
    // Every class of groups requires it (RFC 4519 §3.5), regardless of the attribute that holds the id.
    ...(isSame(nameAttribute ?? '', 'cn') ? [] : [['cn', group.id] as const]),
    ...fieldsOfNew(group, groups),
    ...namesOfNew(dn, creator, groups),
  ];
  const attributes = new Map([['objectclass', { attribute: 'objectClass', values: [...classes] }]]);
  for (const [attribute, value] of values) {
    const known = attributes.get(attributeKey(attribute));
    if (known === undefined) attributes.set(attributeKey(attribute), { attribute, values: [value] });
    else if (!known.values.includes(value)) known.values.push(value);
  }
  return {
    record: { dn, changetype: 'add', attributes: [...attributes.values()] },
    attributes: Object.fromEntries([...attributes].map(([key, { values: given }]) => [key, given])),
  };
}

function fieldsOfNew(group: NewGroup, { fields, classes }: GroupMapping): [string, string][] {
  return fields.flatMap(({ name, attribute, change }) => {
    const value = group[name] ?? null;
    if (name === 'name' || change === undefined || value === null) return [];
    if (lacksAttribute(classes, attribute))
      throw conflict(`The classes of new groups have no attribute ${attribute} for ${name}`, name);
    return [[attribute, value]];
  });
}

/** A directory without an attribute for owners has groups without them. */
function namesOfNew(dn: string, creator: NamedEntry | null, groups: GroupMapping): [string, string][] {
  const { classes, members, owners } = groups;
  const [owner] = owners.attributes;
  const [member = ''] = memberAttributesIn(classes, members.attributes);
  if (creator === null) return needsMember(groups) && members.by === 'dn' ? [[member, dn]] : [];
  const asMember: [string, string] = [member, nameIn(members, creator)];
  return owner === undefined ? [asMember] : [[owner, nameIn(owners, creator)], asMember];
}

/** The attribute to which the name is written. Null: the name is read from an attribute that has the id. */
function nameAttributeOf(group: NewGroup, mapping: GroupMapping): string | null {
  const { id, namingAttribute = id, classes } = mapping;
  const [attribute = '', ...others] = mapping.name;
  const isInId = others.some((each) => isSame(each, 'cn') || isSame(each, id));
  const isAbsent = isInId && lacksAttribute(classes, attribute);
  if ((isAbsent || isSame(attribute, id) || isSame(attribute, namingAttribute)) && group.name !== group.id)
    throw conflict('In this directory the name of a group is its id', 'name');
  return isAbsent ? null : attribute;
}
