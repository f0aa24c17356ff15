import { type Principal, SCOPES } from '../auth/principal.js';
import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { PreviewTransaction } from '../database/statements/preview-transaction.js';

/** The principal of a preview, and the transaction of the preview. */
export interface PreviewContext {
  readonly transaction: PreviewTransaction;
  readonly principal: Principal;
}

/**
 * Returns whether the token can read every user and every group by a query. A mutation returns the objects
 * that it names, and its error reveals whether they exist. A mutation therefore accepts only objects that the
 * same token can read (docs/previews.md).
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

/** @param id id of a user, who may not exist: the function does not read the database */
export function canReadPerson(principal: Principal, id: string): boolean {
  return canReadAll(principal) || foldId(id) === ownId(principal);
}

/** Returns the error that rejects an argument. It does not depend on the content of the directory. */
export function unreadable({ scopes }: Principal, argument: string): ServiceError {
  return new ServiceError(
    'INSUFFICIENT_SCOPE',
    `The argument ${argument} names what this token cannot read: that needs the scope read`,
    { argument, requiredScopes: ['read'], grantedScopes: SCOPES.filter((scope) => scopes.has(scope)) },
  );
}
