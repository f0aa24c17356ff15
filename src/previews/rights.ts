import type { Principal } from '../auth/principal.js';
import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/identity.js';
import type { PreviewTransaction } from '../database/statements/preview-transaction.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { GroupRole } from '../groups/group.model.js';
import type { CallerRole } from './policy.js';

/** The principal of a preview, and the transaction of the preview. */
export interface PreviewContext {
  readonly transaction: PreviewTransaction;
  readonly principal: Principal;
}

/**
 * Returns whether the token can read every user and every group by a query. A mutation returns the objects
 * that it names, and its error reveals whether they exist. A mutation therefore accepts only objects that the
 * same token can read (docs/clients.md).
 */
export function canReadAll({ scopes }: Principal): boolean {
  return scopes.has('read') || scopes.has('directory');
}

/**
 * Returns the folded id of the user whose profile the token can read. Null: the token can read no profile.
 */
export function ownId({ scopes, subject }: Principal): string | null {
  return scopes.has('profile') && subject !== null ? foldId(subject) : null;
}

/** Returns the error that rejects an argument. It does not depend on the content of the directory. */
export function unreadable({ scopes }: Principal, argument: string): ServiceError {
  return new ServiceError(
    'INSUFFICIENT_SCOPE',
    `The argument ${argument} names an object that this token cannot read: it needs the scope read`,
    { argument, requiredScopes: ['read'], grantedScopes: [...scopes] },
  );
}

const CALLER_TEXTS: Record<CallerRole, string> = {
  OWNER: 'an OWNER of it',
  ADMIN: 'an ADMIN of it',
  MEMBER: 'a MEMBER of it',
  STRANGER: 'a user who is not in it',
  NO_USER: 'no user of the directory',
};

/** Returns the caller of a preview. Every mutation requires a token. */
export function callerOf({ previewTransaction: transaction, principal }: RequestContext): PreviewContext {
  if (principal === null) throw new Error('A mutation was reached without a token');
  return { transaction, principal };
}

/**
 * @param needed the minimum role, for the message only: policy.ts decides
 * @param what the allowed action, as the end of a sentence
 * @throws ServiceError FORBIDDEN with the missing role
 */
export function refuseUnless(
  isAllowed: boolean,
  needed: GroupRole,
  what: string,
  callerRole: CallerRole,
  argument: string,
): void {
  if (isAllowed) return;
  const who = needed === GroupRole.OWNER ? 'an OWNER' : 'an OWNER or ADMIN';
  throw new ServiceError(
    'FORBIDDEN',
    `Only ${who} of the group, or a token with the scopes directory and write, may ${what}: ` +
      `this token acts for ${CALLER_TEXTS[callerRole]}`,
    { argument },
  );
}

/** Returns the error for a change of the token's user when the token has no user. */
export function noUserContext(what: string): ServiceError {
  return new ServiceError('NO_USER_CONTEXT', `This token acts for no user of the directory: ${what}`);
}
