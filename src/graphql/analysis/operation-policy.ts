import {
  OperationTypeNode,
  getArgumentValues,
  getNamedType,
  getNullableType,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { type Principal, grantedScopes, type Scope } from '../../auth/principal.js';
import type { Config } from '../../config/config.js';
import { findDryRunFields } from './dry-run.js';
import { type OperationCost, computeCost } from './operation-cost.js';
import { type Operation, type SelectedField, selectedAmong, type Variables, accessOf } from './operation.js';
import { findPersonalData, type PersonalDataSelection } from './personal-data-selection.js';
import { decideAccess, scopesOf, type Access } from '../../auth/access.js';
import { scopeNeeded, UnauthenticatedError } from '../../auth/authentication.error.js';
import { ServiceError } from '../../common/errors.js';

/** The decision about an operation, for a token with certain scopes. */
export interface PolicyDecision {
  readonly cost: OperationCost;
  readonly withheld: readonly Withheld[];
  /** The fields `rateLimit(dryRun: true)`, if nothing else is executed. */
  readonly dryRunFields: readonly SelectedField[] | null;
  /** Whether it is a mutation that runs a resolver. Its changes stay within its own preview. */
  readonly isMutation: boolean;
  /** The personal data that it selects; null if there is none, or if the access log is off. */
  readonly personalData: PersonalDataSelection | null;
}

/**
 * Decides by limits and scopes.
 * @throws ServiceError when the operation must not run at all
 */
export function evaluatePolicy(
  operation: Operation,
  variables: Variables,
  principal: Principal | null,
  { limits, accessLogDays }: Pick<Config, 'limits' | 'accessLogDays'>,
): PolicyDecision {
  const cost = computeCost(operation, variables, principal, limits);
  const dryRunFields = findDryRunFields(operation, variables);
  if (cost.rejection !== null && dryRunFields === null)
    throw new ServiceError('QUERY_TOO_COMPLEX', cost.rejection);
  const { withheld, nothingLeft } = decideScopes(operation, variables, principal);
  if (nothingLeft) throw insufficientScope(withheld);
  const isMutation = operation.definition.operation === OperationTypeNode.MUTATION;
  refuseGuardedInputs(operation.roots, variables, principal, isMutation);
  const hidden = new Set(withheld.map(({ selected }) => selected.key));
  return {
    cost,
    withheld,
    dryRunFields,
    isMutation: changesAnything(operation, variables),
    personalData: accessLogDays === 0 ? null : findPersonalData(operation, variables, hidden),
  };
}

/** Whether it is a mutation that selects more than `__typename`. */
function changesAnything({ definition, roots }: Operation, variables: Variables): boolean {
  return (
    definition.operation === OperationTypeNode.MUTATION &&
    [...selectedAmong(roots, variables)].some(({ field }) => field.resolve !== undefined)
  );
}

/** A selection that requires scopes that the token does not have. */
export interface Withheld {
  readonly selected: SelectedField;
  readonly requiredScopes: readonly Scope[];
  readonly grantedScopes: readonly Scope[];
}

interface ScopeDecision {
  readonly withheld: readonly Withheld[];
  /** Whether every selected root field is withheld. */
  readonly nothingLeft: boolean;
}

/**
 * Decides which fields a principal may read. Fragments, aliases and directives are resolved, so no spelling of
 * a field bypasses it. Throws UnauthenticatedError if a field requires a token and there is none.
 */
function decideScopes(
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

/** The error of withheld selections: of one, or of a request whose root fields are all withheld. */
export function insufficientScope(withheld: readonly Withheld[]): ServiceError {
  const requiredScopes = [...new Set(withheld.flatMap((selection) => selection.requiredScopes))];
  const [first] = withheld;
  const sentences = new Set(withheld.map(describe));
  return new ServiceError('INSUFFICIENT_SCOPE', [...sentences].join(' '), {
    requiredScopes,
    grantedScopes: first?.grantedScopes ?? [],
  });
}

function describe({ selected, requiredScopes }: Withheld): string {
  return scopeNeeded(`The field ${coordinateOf(selected)}`, requiredScopes);
}

function coordinateOf({ parentType, field }: SelectedField): string {
  return `${parentType.name}.${field.name}`;
}

/** The access that a member of an input requires. Members that select by the value of a field require that of the field. */
function accessOfInput({ extensions }: GraphQLInputField): Access | undefined {
  return extensions['access'] as Access | undefined;
}

/**
 * Rejects operations whose arguments select or order by a field that the token cannot read, or change it: the result would show
 * its values. The arguments are valid.
 * @param nullRemoves whether the arguments of these fields, but not of those below, are changes, in which null removes a value
 * @throws ServiceError INSUFFICIENT_SCOPE
 */
export function refuseGuardedInputs(
  fields: Map<string, SelectedField>,
  variables: Variables,
  principal: Principal | null,
  nullRemoves: boolean,
): void {
  for (const { field, fieldNodes, children } of selectedAmong(fields, variables)) {
    const [node] = fieldNodes;
    if (node !== undefined && field.args.some(({ type }) => hasGuards(type))) {
      const given = getArgumentValues(field, node, variables);
      for (const { name, type } of field.args) refuse(type, given[name], principal, nullRemoves);
    }
    refuseGuardedInputs(children, variables, principal, false);
  }
}

function refuse(
  declared: GraphQLInputType,
  value: unknown,
  principal: Principal | null,
  nullRemoves: boolean,
): void {
  const type = getNullableType(declared);
  if (value === null || value === undefined) return;
  if (isListType(type)) {
    for (const each of [value].flat()) refuse(type.ofType, each, principal, nullRemoves);
    return;
  }
  if (!isInputObjectType(type)) return;
  for (const member of Object.values(type.getFields())) {
    const given = (value as Readonly<Record<string, unknown>>)[member.name];
    const access = accessOfInput(member);
    if (given === undefined || (given === null && !nullRemoves)) continue;
    if (access !== undefined && decideAccess(access, principal) !== 'granted') {
      const requiredScopes = scopesOf(access);
      const message = scopeNeeded(`The input ${type.name}.${member.name}`, requiredScopes);
      const details = { argument: member.name, requiredScopes, grantedScopes: grantedScopes(principal) };
      throw new ServiceError('INSUFFICIENT_SCOPE', message, details);
    }
    refuse(member.type, given, principal, nullRemoves);
  }
}

const guarded = new WeakMap<GraphQLNamedType, boolean>();

/** Whether a member of an input, at any depth, requires access. */
function hasGuards(type: GraphQLInputType): boolean {
  const named = getNamedType(type);
  if (!isInputObjectType(named)) return false;
  let found = guarded.get(named);
  if (found === undefined) {
    // An input that contains itself adds nothing.
    guarded.set(named, false);
    const members = Object.values(named.getFields());
    found = members.some((member) => accessOfInput(member) !== undefined || hasGuards(member.type));
    guarded.set(named, found);
  }
  return found;
}
