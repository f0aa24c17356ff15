import type { DirectoryMapping, MemberForm, NamedBy } from '../../config/model/mapping.js';
import { BadUserInputError, NotFoundError, ServiceError } from '../../common/errors.js';
import type { ValueChange } from '../../ldap/ldif/ldif-record.js';
import { type GroupRole, rankOf, roleOf } from '../../groups/group.model.js';
import {
  NAMED_AS_ADMIN,
  NAMED_AS_MEMBER,
  NAMED_AS_OWNER,
  type NamedAs,
  namedBy,
  rankOfNaming,
  type RoleSum,
  rolesOfNaming,
} from '../../mirror/map/named-by.js';
import { formForNewName, memberAttributesIn } from '../object-classes.js';
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
 * Returns the roles for which a group names a user who is added to it (pure).
 * @throws ServiceError CONFLICT when it already names the user
 */
export function addNaming({ namedAs, isNamedByUser }: StoredMembership, role: GroupRole): RoleSum {
  if (isNamedByUser === true && rankOf(role) === 1) throw namedByUser();
  if (namedAs === NOT_NAMED) return sumOf(role);
  throw new ServiceError(
    'CONFLICT',
    `The group names this user already, as ${roleOfNaming(namedAs)}: use updateGroupMember`,
    { argument: 'user' },
  );
}

/**
 * Returns the roles for which a group names a user whose role changes (pure). Attributes of lower roles
 * stay: an owner who was named as a member is still named as one, so that the group keeps at least one
 * member.
 * @throws ServiceError NOT_FOUND when the user is not in the group, CONFLICT when the user is a member only
 * through nested groups, BAD_USER_INPUT when the user already has the role
 */
export function changeNaming(membership: StoredMembership, role: GroupRole): RoleSum {
  const { namedAs } = membership;
  checkNamed(membership);
  if (roleOfNaming(namedAs) === role) {
    throw new BadUserInputError(`The group names this user as ${role} already`, 'role');
  }
  const sum = sumOf(role);
  return (rolesOfNaming(namedAs) & (sum - 1)) | sum;
}

/**
 * Returns the roles for which a group names a user who is removed from it: none (pure).
 * @throws ServiceError NOT_FOUND when the user is not in the group, CONFLICT when the user is a member only
 * through nested groups
 */
export function removeNaming(membership: StoredMembership): RoleSum {
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

/** The record, and how the group names the entry afterwards. */
interface ChangedNames extends ChangedEntry {
  readonly namedAs: NamedAs;
}

/** An attribute of a role, or several, that has or gets the name of an entry. */
interface Name {
  readonly role: RoleSum;
  readonly form: MemberForm;
}

/**
 * Builds the record that changes how a group names an entry (pure). A role is removed in every form in which the group names the entry for
 * it, and added in the first form that the group can have.
 * @param subject the user or the nested group
 * @param after the roles for which the group names the entry afterwards
 * @throws ServiceError CONFLICT when the group would be left without members, which its class does not allow,
 * when it has an owner and the directory allows one, and when the directory has no definite value or attribute for the change
 */
export function changeNames(
  group: OriginalGroup,
  subject: NamedSubject,
  before: NamedAs,
  after: RoleSum,
  mapping: GroupMapping,
): ChangedNames {
  const held = namesOf(before, mapping);
  const kept = held.filter(({ role }) => (role & after) !== 0);
  const missing = rolesIn(mapping).filter(({ role }) => (role & after & ~rolesOfNaming(before)) !== 0);
  const wanted = [
    ...kept,
    ...missing.map(({ role, forms }) => ({ role, form: newForm(forms, group, subject) })),
  ];
  const gone = held.filter((name) => !wanted.some((each) => isSameForm(each.form, name.form)));
  const added = wanted.filter((name) => !held.some((each) => isSameForm(each.form, name.form)));
  const required = requiredForm(mapping);
  const leaves = gone.some(({ form }) => required !== undefined && isSameForm(form, required));
  if (leaves && group.memberValues <= 1 && needsMember(mapping)) {
    throw new ServiceError(
      'CONFLICT',
      `The group ${group.id} names no other member that this token can see, and the directory requires at ` +
        'least one: add a member first, or delete the group',
    );
  }
  const single = mapping.owners.find(({ isSingle }) => isSingle);
  if (
    single !== undefined &&
    (group.ownerValues ?? 0) > 0 &&
    added.some(({ form }) => isSameForm(form, single))
  ) {
    throw new ServiceError(
      'CONFLICT',
      `The group ${group.id} has another owner, and the directory allows one (${single.attributes.join()}): change the ` +
        'role of that owner first',
      { argument: 'role' },
    );
  }
  const step =
    (operation: ValueChange['operation']) =>
    ({ form }: Name): ValueChange => ({
      operation,
      attribute: attributeOf(form, operation, group),
      values: [nameIn(form.by, subject)],
    });
  const changes = [...gone.map(step('delete')), ...added.map(step('add'))];
  const namedAs = wanted.reduce((sum, { role, form }) => sum | namedBy(form.by, role), NOT_NAMED);
  return { ...modifyEntry(group, auxiliaryClassOfGroups(mapping), changes), namedAs };
}

/** The first form that the group can have, and that can name the entry. */
function newForm(forms: readonly MemberForm[], group: OriginalGroup, { id }: NamedSubject): MemberForm {
  const form = formForNewName(classesOf(group), forms, id === null ? 'group' : 'person');
  if (form !== undefined) return form;
  throw new ServiceError('CONFLICT', 'Groups of this directory have no attribute for this role', {
    argument: 'role',
  });
}

/**
 * The value that names an entry.
 * @throws ServiceError CONFLICT when no value can
 */
export function nameIn(by: NamedBy, { dn, id, uuid }: NamedSubject): string {
  if (by === 'uuid') return uuid;
  if (by === 'dn') return dn;
  if (id !== null) return id;
  throw new ServiceError('CONFLICT', 'Groups of this directory name users by id, and cannot contain groups');
}

/** Which of several attributes has a value is not known, unless the classes of the group permit only one. */
function attributeOf(form: MemberForm, operation: ValueChange['operation'], group: OriginalGroup): string {
  const possible = memberAttributesIn(classesOf(group), form);
  const [attribute = '', ...others] = possible;
  if (operation === 'add' || others.length === 0) return attribute;
  const all = possible.join(' or ');
  throw new ServiceError('CONFLICT', `The directory names members in ${all}: remove the value there`);
}

function isSameForm(left: MemberForm, right: MemberForm): boolean {
  const [first = ''] = left.attributes;
  const [second = ''] = right.attributes;
  return left.by === right.by && isSame(first, second);
}

/** Returns whether the class of groups requires at least one member (RFC 4519 §3.5 and §3.6). */
export function needsMember({ classes, mayBeEmpty }: GroupMapping): boolean {
  if (mayBeEmpty) return false;
  return classes.some((each) => isSame(each, 'groupOfNames') || isSame(each, 'groupOfUniqueNames'));
}

/** The form of members that such a class requires: its attributes have DNs. */
export function requiredForm({ members }: Pick<GroupMapping, 'members'>): MemberForm | undefined {
  return members.find(({ by }) => by === 'dn') ?? members[0];
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

function sumOf(role: GroupRole): RoleSum {
  return 1 << (rankOf(role) - 1);
}

function rolesIn({ members, admins, owners }: GroupMapping) {
  return [
    { role: NAMED_AS_MEMBER, forms: members },
    { role: NAMED_AS_ADMIN, forms: admins },
    { role: NAMED_AS_OWNER, forms: owners },
  ];
}

/** The names of an entry that a group has. */
function namesOf(namedAs: NamedAs, mapping: GroupMapping): Name[] {
  return rolesIn(mapping).flatMap(({ role, forms }) =>
    forms.filter(({ by }) => (namedAs & namedBy(by, role)) !== 0).map((form) => ({ role, form })),
  );
}
