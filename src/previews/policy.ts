import { hasScopes, type Principal } from '../auth/principal.js';
import { GroupRole } from '../groups/group-role.js';

/**
 * The effective role of the token's user in a group. STRANGER: the user is not a member. NO_USER: the token
 * has no user in the directory.
 */
export type Standing = GroupRole | 'STRANGER' | 'NO_USER';

/**
 * A token with the scopes `directory` and `write` may preview every change. No other token may change another
 * user; it acts on behalf of its own user.
 */
export function isAdministrator(principal: Principal): boolean {
  return hasScopes(principal, ['directory', 'write']);
}

/**
 * The user may change their own name and address.
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
export function canCreateGroupIn(principal: Principal, parent: Standing): boolean {
  return isAdministrator(principal) || parent === GroupRole.ADMIN || parent === GroupRole.OWNER;
}

export function canUpdateGroup(principal: Principal, standing: Standing): boolean {
  return isAdministrator(principal) || standing === GroupRole.OWNER;
}

export function canDeleteGroup(principal: Principal, standing: Standing): boolean {
  return isAdministrator(principal) || standing === GroupRole.OWNER;
}

/** @param role the new role of the user */
export function canAddMember(principal: Principal, standing: Standing, role: GroupRole): boolean {
  return canManageMembers(principal, standing, role);
}

export function canChangeRoles(principal: Principal, standing: Standing): boolean {
  return isAdministrator(principal) || standing === GroupRole.OWNER;
}

/** @param role the role by which the group names the user, which the change removes */
export function canRemoveMember(principal: Principal, standing: Standing, role: GroupRole): boolean {
  return canManageMembers(principal, standing, role);
}

/** Owners manage all roles, admins manage the roles below their own. */
function canManageMembers(principal: Principal, standing: Standing, role: GroupRole): boolean {
  if (isAdministrator(principal) || standing === GroupRole.OWNER) return true;
  return standing === GroupRole.ADMIN && role === GroupRole.MEMBER;
}
