import { type Principal } from '../auth/principal.js';
import { hasScopes } from '../auth/access.js';
import { GroupRole } from '../groups/group.model.js';

/**
 * The effective role of the token's user in a group. STRANGER: the user is not a member. NO_USER: the token
 * has no user in the directory.
 */
export type CallerRole = GroupRole | 'STRANGER' | 'NO_USER';

/**
 * A token with these scopes may preview every change. `updateUser` requires them: no other token may change
 * another user, because it acts on behalf of its own.
 */
export const ADMINISTRATOR_SCOPES = ['directory', 'write'] as const;

export function isAdministrator(principal: Principal): boolean {
  return hasScopes(principal, ADMINISTRATOR_SCOPES);
}

/**
 * A token with a user may preview changes of those fields of this user that have `by: 'self'`.
 * @param actor the token's user
 */
export function canUpdateProfile<Person>(actor: Person | null): actor is Person {
  return actor !== null;
}

/**
 * The user who creates a group becomes its owner.
 * @param actor the token's user
 */
export function canCreateGroup(principal: Principal, actor: object | null): boolean {
  return isAdministrator(principal) || actor !== null;
}

/**
 * Creating a group in a parent adds the group and all its users to the parent, which requires more than
 * adding one user.
 */
export function canCreateGroupIn(principal: Principal, parent: CallerRole): boolean {
  return isAdministrator(principal) || parent === GroupRole.ADMIN || parent === GroupRole.OWNER;
}

export function canUpdateGroup(principal: Principal, callerRole: CallerRole): boolean {
  return isAdministrator(principal) || callerRole === GroupRole.OWNER;
}

export function canDeleteGroup(principal: Principal, callerRole: CallerRole): boolean {
  return isAdministrator(principal) || callerRole === GroupRole.OWNER;
}

/** @param role the new role of the user */
export function canAddMember(principal: Principal, callerRole: CallerRole, role: GroupRole): boolean {
  return canManageMembers(principal, callerRole, role);
}

export function canChangeRoles(principal: Principal, callerRole: CallerRole): boolean {
  return isAdministrator(principal) || callerRole === GroupRole.OWNER;
}

/** @param role the role by which the group names the user, which the change removes */
export function canRemoveMember(principal: Principal, callerRole: CallerRole, role: GroupRole): boolean {
  return canManageMembers(principal, callerRole, role);
}

/** Owners manage all roles, admins manage the roles below their own. */
function canManageMembers(principal: Principal, callerRole: CallerRole, role: GroupRole): boolean {
  if (isAdministrator(principal) || callerRole === GroupRole.OWNER) return true;
  return callerRole === GroupRole.ADMIN && role === GroupRole.MEMBER;
}
