import { hasScopes } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/identity.js';
import { GroupRole, rankOf } from '../groups/group.model.js';

const { MEMBER, ADMIN, OWNER } = GroupRole;

/** A token with these scopes may preview every change. `updateUser` requires them: another token changes only its own user. */
export const ADMINISTRATOR_SCOPES = ['directory', 'write'] as const;

/** The lowest role of the token's user in a group that allows a change of the group to tokens without those scopes. */
export const ROLE_FOR = {
  /** It adds the new group and all its users, which requires more than adding one user. */
  createGroupInside: ADMIN,
  updateGroup: OWNER,
  deleteGroup: OWNER,
  updateGroupMember: OWNER,
} as const;

/** To add or remove a user with a role by name. Owners manage all roles, admins the roles below their own. */
export function roleToManage(role: GroupRole): GroupRole {
  return role === MEMBER ? ADMIN : OWNER;
}

/** The effective role of the token's user. STRANGER: not a member of the group. NO_USER: the token has no user in the directory. */
export type CallerRole = GroupRole | 'STRANGER' | 'NO_USER';

export function mayChange(principal: Principal, caller: CallerRole, needed: GroupRole): boolean {
  if (hasScopes(principal, ADMINISTRATOR_SCOPES)) return true;
  return caller !== 'STRANGER' && caller !== 'NO_USER' && rankOf(caller) >= rankOf(needed);
}

/** @param what the change, as the end of a sentence */
export function forbidden(needed: GroupRole, caller: CallerRole, what: string, argument: string) {
  const who = needed === OWNER ? 'an OWNER' : 'an OWNER or ADMIN';
  const member =
    caller === 'STRANGER' ? 'a user who is not in it' : `${caller === MEMBER ? 'a' : 'an'} ${caller} of it`;
  const actor = caller === 'NO_USER' ? 'no user of the directory' : member;
  return new ServiceError(
    'FORBIDDEN',
    `Only ${who} of the group, or a token with the scopes directory and write, may ${what}: this token acts for ${actor}`,
    { argument },
  );
}

/** The token needs a user for the change and has none. */
export function noUserContext(what: string): ServiceError {
  return new ServiceError('NO_USER_CONTEXT', `This token acts for no user of the directory: ${what}`);
}

/** A mutation returns what it names, and its error reveals whether that exists: it accepts only what a query can read. */
export function canReadAll({ scopes }: Principal): boolean {
  return scopes.has('read') || scopes.has('directory');
}

/** The error for an object that the token cannot read. It does not depend on the content of the directory. */
export function unreadable({ scopes }: Principal, argument: string): ServiceError {
  return new ServiceError(
    'INSUFFICIENT_SCOPE',
    `The argument ${argument} names an object that this token cannot read: it needs the scope read`,
    { argument, requiredScopes: ['read'], grantedScopes: [...scopes] },
  );
}

/** The folded id of the only user whom the token can read. Null: everyone. @throws ServiceError INSUFFICIENT_SCOPE if there is none */
export function onlyReadable(principal: Principal, argument: string): string | null {
  const { scopes, subject } = principal;
  if (canReadAll(principal)) return null;
  if (subject === null || !scopes.has('profile')) throw unreadable(principal, argument);
  return foldId(subject);
}
