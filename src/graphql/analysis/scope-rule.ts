import { UnauthenticatedError } from '../../auth/authentication.error.js';
import { hasScopes, type Principal } from '../../auth/principal.js';
import { SCOPES, type Scope } from '../../auth/scopes.js';
import { ServiceError } from '../../common/errors.js';
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
    const required = access.kind === 'scopes' ? access.scopes : [];
    throw UnauthenticatedError.tokenNeeded(coordinateOf(selected), required);
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

/** The refusal of a request of which nothing is left. */
export function insufficientScope(withheld: readonly Withheld[]): ServiceError {
  const requiredScopes = [...new Set(withheld.flatMap((selection) => selection.requiredScopes))];
  const [first] = withheld;
  const sentences = new Set(withheld.map(describe));
  return new ServiceError('INSUFFICIENT_SCOPE', [...sentences].join(' '), {
    requiredScopes,
    grantedScopes: first?.grantedScopes ?? [],
  });
}

/** The error of one selection, in an answer to the rest. */
export function withheldError(withheld: Withheld): ServiceError {
  const { requiredScopes, grantedScopes } = withheld;
  return new ServiceError('INSUFFICIENT_SCOPE', describe(withheld), { requiredScopes, grantedScopes });
}

function describe({ selected, requiredScopes }: Withheld): string {
  const scopes =
    requiredScopes.length === 1
      ? `the scope ${requiredScopes.join()}`
      : `the scopes ${requiredScopes.join(' and ')}`;
  return `The field ${coordinateOf(selected)} is not accessible with this token: it needs ${scopes}.`;
}

function coordinateOf({ parentType, field }: SelectedField): string {
  return `${parentType.name}.${field.name}`;
}
