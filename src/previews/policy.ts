import { hasScopes, type Principal } from '../auth/principal.js';
import { GroupRole } from '../groups/group-role.js';

/**
 * What the person that the token acts for is in a group, by effective role. STRANGER: nothing. NOBODY: there is no
 * such person, because the token acts for nobody of the directory.
 */
export type Standing = GroupRole | 'STRANGER' | 'NOBODY';

/**
 * A token for the administration of the directory may preview every change, and it alone a change of other people;
 * any other one acts for a person.
 */
export function isAdministrator(principal: Principal): boolean {
  return hasScopes(principal, ['directory', 'write']);
}

/**
 * One's own name and address.
 * @param actor the person that the token acts for
 */
export function canUpdateProfile<Person>(actor: Person | null): actor is Person {
  return actor !== null;
}

/**
 * Whoever makes a group becomes its owner.
 * @param actor the person that the token acts for
 */
export function canCreateGroup(principal: Principal, actor: object | null): boolean {
  return isAdministrator(principal) || actor !== null;
}

/** A new group is made a member of its parent, and its people with it: that is more than adding one person. */
export function canCreateGroupIn(principal: Principal, parent: Standing): boolean {
  return isAdministrator(principal) || parent === GroupRole.ADMIN || parent === GroupRole.OWNER;
}

export function canUpdateGroup(principal: Principal, standing: Standing): boolean {
  return isAdministrator(principal) || standing === GroupRole.OWNER;
}

export function canDeleteGroup(principal: Principal, standing: Standing): boolean {
  return isAdministrator(principal) || standing === GroupRole.OWNER;
}

/** @param role what the person is to be */
export function canAddMember(principal: Principal, standing: Standing, role: GroupRole): boolean {
  return canManageMembers(principal, standing, role);
}

export function canChangeRoles(principal: Principal, standing: Standing): boolean {
  return isAdministrator(principal) || standing === GroupRole.OWNER;
}

/** @param role what the person is by name: that is what is taken away */
export function canRemoveMember(principal: Principal, standing: Standing, role: GroupRole): boolean {
  return canManageMembers(principal, standing, role);
}

/** Owners manage everybody, admins those below themselves. */
function canManageMembers(principal: Principal, standing: Standing, role: GroupRole): boolean {
  if (isAdministrator(principal) || standing === GroupRole.OWNER) return true;
  return standing === GroupRole.ADMIN && role === GroupRole.MEMBER;
}
