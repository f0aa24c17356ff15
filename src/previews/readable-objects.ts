import type { Principal } from '../auth/principal.js';
import { SCOPES } from '../auth/scopes.js';
import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { Overlay } from '../database/statements/preview-transaction.js';

/** Who asks for a preview, and where it is made. */
export interface Caller {
  readonly overlay: Overlay;
  readonly principal: Principal;
}

/**
 * Whether the token can read every person and every group by a query. A mutation shows what it names, and its error tells
 * whether that exists. So a mutation names only what the same token could read (docs/previews.md).
 */
export function canReadAll({ scopes }: Principal): boolean {
  return scopes.has('read') || scopes.has('directory');
}

/** The folded id of the person whose profile the token can read; null: it can read none. */
export function ownId({ scopes, subject }: Principal): string | null {
  return scopes.has('profile') && subject !== null ? foldId(subject) : null;
}

/** @param id of a person, who may not exist: nothing is looked up */
export function canReadPerson(principal: Principal, id: string): boolean {
  return canReadAll(principal) || foldId(id) === ownId(principal);
}

/** The refusal of an argument. It does not depend on what the directory holds. */
export function unreadable({ scopes }: Principal, argument: string): ServiceError {
  return new ServiceError(
    'INSUFFICIENT_SCOPE',
    `The argument ${argument} names what this token cannot read: that needs the scope read`,
    { argument, requiredScopes: ['read'], grantedScopes: SCOPES.filter((scope) => scopes.has(scope)) },
  );
}
