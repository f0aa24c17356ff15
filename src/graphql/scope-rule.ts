import { UnauthenticatedError } from '../auth/authentication.error.js';
import { hasScopes, type Principal } from '../auth/principal.js';
import { SCOPES, type Scope } from '../auth/scopes.js';
import { accessOf, type Operation, type SelectedField, selectedAmong, type Variables } from './operation.js';

/** A selection that the token does not reach. */
export interface Withheld {
  readonly selected: SelectedField;
  readonly requiredScopes: readonly Scope[];
  readonly grantedScopes: readonly Scope[];
}

export interface ScopeDecision {
  readonly withheld: readonly Withheld[];
  /** Nothing of what was asked for can be answered. */
  readonly nothingLeft: boolean;
}

/**
 * Decides what of an operation a caller may have, by the declarations beside the fields. It looks at the
 * operation as it will be executed, with fragments, aliases and directives resolved, so that no spelling of a
 * field escapes it.
 * @throws UnauthenticatedError when a field needs a token and there is none
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
  if (principal === null && (access.kind === 'token' || access.kind === 'scopes')) {
    throw UnauthenticatedError.tokenNeeded();
  }
  if (principal !== null && access.kind === 'scopes' && !hasScopes(principal, access.scopes)) {
    withheld.push({
      selected,
      requiredScopes: access.scopes,
      grantedScopes: SCOPES.filter((scope) => principal.scopes.has(scope)),
    });
    return;
  }
  for (const child of selectedAmong(selected.children, variables))
    decide(child, variables, principal, withheld);
}
