import { ServiceError } from '../common/errors.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { GroupRole } from '../memberships/role.js';
import type { Standing } from './policy.js';
import type { Caller } from './readable-objects.js';

const WHOM: Record<Standing, string> = {
  OWNER: 'an OWNER of it',
  ADMIN: 'an ADMIN of it',
  MEMBER: 'a MEMBER of it',
  STRANGER: 'somebody who is not in it',
  NOBODY: 'nobody of the directory',
};

/** Who asks for a preview: no mutation is reached without a token. */
export function callerOf({ overlay, principal }: RequestContext): Caller {
  if (principal === null) throw new Error('A mutation has been reached without a token');
  return { overlay, principal };
}

/**
 * @param needed what somebody has to be in the group, at least
 * @param what may be done then: the end of a sentence
 * @throws ServiceError FORBIDDEN, which says what is missing
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

/** The change is about the person that the token acts for, and there is none. */
export function noUserContext(what: string): ServiceError {
  return new ServiceError('NO_USER_CONTEXT', `This token acts for nobody of the directory: ${what}`);
}
