import { ServiceError } from '../common/errors.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { GroupRole } from '../groups/group-role.js';
import type { Standing } from './policy.js';
import type { PreviewContext } from './readable-objects.js';

const WHOM: Record<Standing, string> = {
  OWNER: 'an OWNER of it',
  ADMIN: 'an ADMIN of it',
  MEMBER: 'a MEMBER of it',
  STRANGER: 'somebody who is not in it',
  NOBODY: 'nobody of the directory',
};

/** Returns the caller of a preview. Every mutation requires a token. */
export function callerOf({ previewTransaction: transaction, principal }: RequestContext): PreviewContext {
  if (principal === null) throw new Error('A mutation has been reached without a token');
  return { transaction, principal };
}

/**
 * @param needed the minimum role in the group
 * @param what the allowed action, as the end of a sentence
 * @throws ServiceError FORBIDDEN with the missing role
 */
export function refuseUnless(
  isAllowed: boolean,
  needed: GroupRole,
  what: string,
  standing: Standing,
  argument: string,
): void {
  if (isAllowed) return;
  const who = needed === GroupRole.OWNER ? 'an OWNER' : 'an OWNER or ADMIN';
  throw new ServiceError(
    'FORBIDDEN',
    `Only ${who} of the group, or a token with the scopes directory and write, may ${what}: ` +
      `this token acts for ${WHOM[standing]}`,
    { argument },
  );
}

/** Returns the error for a change of the token's user when the token has no user. */
export function noUserContext(what: string): ServiceError {
  return new ServiceError('NO_USER_CONTEXT', `This token acts for nobody of the directory: ${what}`);
}
