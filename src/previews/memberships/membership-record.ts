import type { DirectoryMapping } from '../../config/model/mapping.js';
import { BadUserInputError, NotFoundError, ServiceError } from '../../common/errors.js';
import type { ValueChange } from '../../ldap/ldif/ldif-record.js';
import { type GroupRole, rankOf, roleOf } from '../../groups/group-role.js';
import {
  NAMED_AS_ADMIN,
  NAMED_AS_MEMBER,
  NAMED_AS_OWNER,
  type NamedAs,
  rankOfNaming,
} from '../../mirror/map/snapshot.js';
import { auxiliaryClassOfGroups, isSame } from '../auxiliary-class.js';
import { type ChangedEntry, modifyEntry, type OriginalGroup } from '../stored-entry.js';

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
}

/**
 * Returns the attributes by which a group names a user who is added to it (pure).
 * @throws ServiceError CONFLICT when it already names the user
 */
export function addNaming({ namedAs }: StoredMembership, role: GroupRole): NamedAs {
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

/**
 * Builds the record that changes how a group names an entry (pure).
 * @param dn the DN of the user or of the nested group
 * @throws ServiceError CONFLICT when the group would be left without members, which its class does not allow
 */
export function changeNames(
  group: OriginalGroup,
  dn: string,
  before: NamedAs,
  after: NamedAs,
  mapping: GroupMapping,
): ChangedEntry {
  const held = attributesOf(before, mapping);
  const wanted = attributesOf(after, mapping);
  const gone = held.filter((name) => !wanted.some((each) => isSame(each, name)));
  const added = wanted.filter((name) => !held.some((each) => isSame(each, name)));
  if (gone.includes(mapping.member) && group.memberValues <= 1 && needsMember(mapping)) {
    throw new ServiceError(
      'CONFLICT',
      `The group ${group.id} names no other member, and the directory requires at least one: add a member ` +
        'first, or delete the group',
    );
  }
  const step =
    (operation: ValueChange['operation']) =>
    (attribute: string): ValueChange => ({ operation, attribute, values: [dn] });
  return modifyEntry(group, auxiliaryClassOfGroups(mapping), [
    ...gone.map(step('delete')),
    ...added.map(step('add')),
  ]);
}

/** Returns whether the class of groups requires at least one member (RFC 4519 §3.5 and §3.6). */
export function needsMember({ classes }: GroupMapping): boolean {
  return classes.some((each) => isSame(each, 'groupOfNames') || isSame(each, 'groupOfUniqueNames'));
}

export function roleOfNaming(namedAs: NamedAs): GroupRole {
  return roleOf(rankOfNaming(namedAs));
}

function checkNamed({ namedAs, role }: StoredMembership): void {
  if (namedAs !== NOT_NAMED) return;
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

function attributesOf(namedAs: NamedAs, mapping: GroupMapping): string[] {
  return [
    { naming: NAMED_AS_MEMBER, attribute: mapping.member },
    { naming: NAMED_AS_ADMIN, attribute: mapping.admin },
    { naming: NAMED_AS_OWNER, attribute: mapping.owner },
  ]
    .filter(({ naming }) => (namedAs & naming) !== 0)
    .map(({ attribute }) => attribute);
}
