import type { DirectoryMapping, RoleMapping } from '../../config/model/mapping.js';
import { BadUserInputError, NotFoundError, ServiceError } from '../../common/errors.js';
import type { ValueChange } from '../../ldap/ldif/ldif-record.js';
import { type GroupRole, rankOf, roleOf } from '../../groups/group.model.js';
import {
  NAMED_AS_ADMIN,
  NAMED_AS_MEMBER,
  NAMED_AS_OWNER,
  type NamedAs,
  rankOfNaming,
} from '../../mirror/map/snapshot.js';
import { memberAttributesIn } from '../object-classes.js';
import {
  auxiliaryClassOfGroups,
  classesOf,
  isSame,
  type ChangedEntry,
  modifyEntry,
  type OriginalGroup,
} from '../stored-entry.js';

type GroupMapping = DirectoryMapping['groups'];

/** The group does not name the entry. */
export const NOT_NAMED: NamedAs = 0;

/** How a user belongs to a group. */
export interface StoredMembership {
  /**
   * Attributes by which the group names the user. NOT_NAMED: the user is at most a member through nested
   * groups.
   */
  readonly namedAs: NamedAs;
  /** The effective role. Null: the user is not a member of the group. */
  readonly role: GroupRole | null;
  /** Whether an attribute of the user names the group: its primary group, for example. */
  readonly isNamedByUser?: boolean;
}

/**
 * Returns the attributes by which a group names a user who is added to it (pure).
 * @throws ServiceError CONFLICT when it already names the user
 */
export function addNaming({ namedAs, isNamedByUser }: StoredMembership, role: GroupRole): NamedAs {
  if (isNamedByUser === true && rankOf(role) === 1) throw namedByUser();
  if (namedAs === NOT_NAMED) return namingOf(role);
  throw new ServiceError(
    'CONFLICT',
    `The group names this user already, as ${roleOfNaming(namedAs)}: use updateGroupMember`,
    { argument: 'user' },
  );
}

/**
 * Returns the attributes by which a group names a user whose role changes (pure). Attributes of lower roles
 * stay: an owner who was named as a member is still named as one, so that the group keeps at least one
 * member.
 * @throws ServiceError NOT_FOUND when the user is not in the group, CONFLICT when the user is a member only
 * through nested groups, BAD_USER_INPUT when the user already has the role
 */
export function changeNaming(membership: StoredMembership, role: GroupRole): NamedAs {
  const { namedAs } = membership;
  checkNamed(membership);
  if (roleOfNaming(namedAs) === role) {
    throw new BadUserInputError(`The group names this user as ${role} already`, 'role');
  }
  const naming = namingOf(role);
  return (namedAs & (naming - 1)) | naming;
}

/**
 * Returns the attributes by which a group names a user who is removed from it (pure).
 * @throws ServiceError NOT_FOUND when the user is not in the group, CONFLICT when the user is a member only
 * through nested groups
 */
export function removeNaming(membership: StoredMembership): NamedAs {
  checkNamed(membership);
  return NOT_NAMED;
}

/** The names of a user or a nested group, of which a group holds one. */
export interface NamedSubject {
  readonly dn: string;
  /** Null for a group: groups name only users by id. */
  readonly id: string | null;
  readonly uuid: string;
}

/**
 * Builds the record that changes how a group names an entry (pure).
 * @param subject the user or the nested group
 * @throws ServiceError CONFLICT when the group would be left without members, which its class does not allow,
 * when it has an owner and the directory allows one, and when the directory has no definite value or attribute for the change
 */
export function changeNames(
  group: OriginalGroup,
  subject: NamedSubject,
  before: NamedAs,
  after: NamedAs,
  mapping: GroupMapping,
): ChangedEntry {
  const held = rolesOf(before, mapping);
  const wanted = rolesOf(after, mapping);
  const gone = held.filter((role) => !wanted.some((each) => isSameRole(each, role)));
  const added = wanted.filter((role) => !held.some((each) => isSameRole(each, role)));
  const leaves = gone.some((role) => isSameRole(role, mapping.members));
  if (leaves && group.memberValues <= 1 && needsMember(mapping)) {
    throw new ServiceError(
      'CONFLICT',
      `The group ${group.id} names no other member that this token can see, and the directory requires at ` +
        'least one: add a member first, or delete the group',
    );
  }
  if ((group.ownerValues ?? 0) > 0 && added.some((role) => isSameRole(role, mapping.owners))) {
    throw new ServiceError(
      'CONFLICT',
      `The group ${group.id} has another owner, and the directory allows one (${mapping.owners.attributes.join()}): change the ` +
        'role of that owner first',
      { argument: 'role' },
    );
  }
  const step =
    (operation: ValueChange['operation']) =>
    (role: RoleMapping): ValueChange => ({
      operation,
      attribute: attributeOf(role, operation, group),
      values: [nameIn(role, subject)],
    });
  return modifyEntry(group, auxiliaryClassOfGroups(mapping), [
    ...gone.map(step('delete')),
    ...added.map(step('add')),
  ]);
}

/**
 * The value by which the attributes of a role name an entry.
 * @throws ServiceError CONFLICT when they cannot
 */
export function nameIn({ by }: RoleMapping, { dn, id, uuid }: NamedSubject): string {
  if (by === 'uuid') return uuid;
  if (by === 'dn') return dn;
  if (id !== null) return id;
  throw new ServiceError('CONFLICT', 'Groups of this directory name users by id, and cannot contain groups');
}

/** Which of several attributes has a value is not known, unless the classes of the group permit only one. */
function attributeOf(
  { attributes }: RoleMapping,
  operation: ValueChange['operation'],
  group: OriginalGroup,
): string {
  const possible = memberAttributesIn(classesOf(group), attributes);
  const [attribute, ...others] = possible;
  if (attribute === undefined)
    throw new ServiceError('CONFLICT', 'Groups of this directory have no attribute for this role', {
      argument: 'role',
    });
  if (operation === 'add' || others.length === 0) return attribute;
  const all = possible.join(' or ');
  throw new ServiceError('CONFLICT', `The directory names members in ${all}: remove the value there`);
}

function isSameRole(left: RoleMapping, right: RoleMapping): boolean {
  const [first = ''] = left.attributes;
  const [second = ''] = right.attributes;
  return left.by === right.by && isSame(first, second);
}

/** Returns whether the class of groups requires at least one member (RFC 4519 §3.5 and §3.6). */
export function needsMember({ classes, mayBeEmpty }: GroupMapping): boolean {
  if (mayBeEmpty) return false;
  return classes.some((each) => isSame(each, 'groupOfNames') || isSame(each, 'groupOfUniqueNames'));
}

export function roleOfNaming(namedAs: NamedAs): GroupRole {
  return roleOf(rankOfNaming(namedAs));
}

function namedByUser(): ServiceError {
  return new ServiceError(
    'CONFLICT',
    'The user belongs to the group by an attribute of the user, such as the primary group: it has to be changed instead',
    { argument: 'user' },
  );
}

function checkNamed({ namedAs, role, isNamedByUser }: StoredMembership): void {
  if (namedAs !== NOT_NAMED) return;
  if (isNamedByUser === true) throw namedByUser();
  if (role === null) throw new NotFoundError('The user is not in the group', 'user');
  throw new ServiceError(
    'CONFLICT',
    'The group does not name this user: the user belongs to it through a group inside it, which has to be ' +
      'changed instead',
    { argument: 'user' },
  );
}

function namingOf(role: GroupRole): NamedAs {
  return 1 << (rankOf(role) - 1);
}

function rolesOf(namedAs: NamedAs, { members, admins, owners }: GroupMapping): RoleMapping[] {
  return [
    { naming: NAMED_AS_MEMBER, role: members },
    { naming: NAMED_AS_ADMIN, role: admins },
    { naming: NAMED_AS_OWNER, role: owners },
  ]
    .filter(({ naming }) => (namedAs & naming) !== 0)
    .map(({ role }) => role);
}
