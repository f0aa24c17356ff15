import { decideAccess, scopesOf } from '../../auth/access.js';
import { scopeNeeded, UnauthenticatedError } from '../../auth/authentication.error.js';
import { grantedScopes, type Principal } from '../../auth/principal.js';
import type { Scope } from '../../auth/scopes.js';
import { ServiceError } from '../../common/errors.js';
import { accessOf, type Operation, type SelectedField, selectedAmong, type Variables } from './operation.js';

/** A selection that requires scopes that the token does not have. */
export interface Withheld {
  readonly selected: SelectedField;
  readonly requiredScopes: readonly Scope[];
  readonly grantedScopes: readonly Scope[];
}

export interface ScopeDecision {
  readonly withheld: readonly Withheld[];
  /** Whether every selected root field is withheld. */
  readonly nothingLeft: boolean;
}

/**
 * Decides which fields of an operation a principal may read, from the access that the fields declare. It
 * checks the operation as it will be executed, with fragments, aliases and directives resolved, so no
 * spelling of a field bypasses it.
 * @throws UnauthenticatedError if a field requires a token and there is none
 */
export function decideScopes(
  operation: Operation,
  variables: Variables,
  principal: Principal | null,
): ScopeDecision {
  const withheld: Withheld[] = [];
  const roots = [...selectedAmong(operation.roots, variables)];
  for (const root of roots) decide(root, variables, principal, withheld);
  const withheldRoots = withheld.filter(({ selected }) => selected.responsePath.length === 1);
  return { withheld, nothingLeft: roots.length > 0 && withheldRoots.length === roots.length };
}

function decide(
  selected: SelectedField,
  variables: Variables,
  principal: Principal | null,
  withheld: Withheld[],
): void {
  const access = accessOf(selected.field);
  const decision = decideAccess(access, principal);
  if (decision === 'token needed') {
    throw UnauthenticatedError.tokenNeeded(`The field ${coordinateOf(selected)}`, scopesOf(access));
  }
  if (decision === 'scope needed') {
    withheld.push({
      selected,
      requiredScopes: scopesOf(access),
      grantedScopes: grantedScopes(principal),
    });
    return;
  }
  for (const child of selectedAmong(selected.children, variables))
    decide(child, variables, principal, withheld);
}

/** The error of a request whose root fields are all withheld. */
export function insufficientScope(withheld: readonly Withheld[]): ServiceError {
  const requiredScopes = [...new Set(withheld.flatMap((selection) => selection.requiredScopes))];
  const [first] = withheld;
  const sentences = new Set(withheld.map(describe));
  return new ServiceError('INSUFFICIENT_SCOPE', [...sentences].join(' '), {
    requiredScopes,
    grantedScopes: first?.grantedScopes ?? [],
  });
}

/** The error of one withheld selection, in a response to the other selections. */
export function withheldError(withheld: Withheld): ServiceError {
  const { requiredScopes, grantedScopes } = withheld;
  return new ServiceError('INSUFFICIENT_SCOPE', describe(withheld), { requiredScopes, grantedScopes });
}

function describe({ selected, requiredScopes }: Withheld): string {
  return scopeNeeded(`The field ${coordinateOf(selected)}`, requiredScopes);
}

function coordinateOf({ parentType, field }: SelectedField): string {
  return `${parentType.name}.${field.name}`;
}
