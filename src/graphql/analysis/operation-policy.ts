import {
  OperationTypeNode,
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
import { coerceArguments, CostCount, type Occurrences, type OperationCost } from './operation-cost.js';
import { type Operation, type SelectedField, selectedAmong, type Variables, accessOf } from './operation.js';
import {
  type Level,
  levelBelow,
  PersonalDataSearch,
  type PersonalDataSelection,
} from './personal-data-selection.js';
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
 * Decides by limits and scopes, in one walk over what the operation selects with these variables. Fragments, aliases and directives
 * are resolved, so no spelling of a field bypasses it.
 * @throws ServiceError when the operation must not run at all; UnauthenticatedError if a field requires a token and there is none
 */
export function evaluatePolicy(
  operation: Operation,
  variables: Variables,
  principal: Principal | null,
  { limits, accessLogDays }: Pick<Config, 'limits' | 'accessLogDays'>,
): PolicyDecision {
  const walk = new Walk(variables, principal, limits, accessLogDays > 0);
  const roots = [...selectedAmong(operation.roots, variables)];
  const isMutation = operation.definition.operation === OperationTypeNode.MUTATION;
  walk.visit(operation.roots, walk.root(isMutation));
  const cost = walk.cost.total(operation, roots.length);
  const dryRunFields = findDryRunFields(roots, variables);
  if (cost.rejection !== null && dryRunFields === null)
    throw new ServiceError('QUERY_TOO_COMPLEX', cost.rejection);
  if (walk.tokenNeeded !== null) throw walk.tokenNeeded;
  const { withheld } = walk;
  const withheldRoots = withheld.filter(({ selected }) => selected.responsePath.length === 1);
  if (roots.length > 0 && withheldRoots.length === roots.length) throw insufficientScope(withheld);
  if (walk.guardedInput !== null) throw walk.guardedInput;
  return {
    cost,
    withheld,
    dryRunFields,
    isMutation: isMutation && roots.some(({ field }) => field.resolve !== undefined),
    personalData: walk.personalData?.found ?? null,
  };
}

/** Returns the fields `rateLimit` if one has `dryRun: true`: only they are executed then. Null: the whole operation is. */
function findDryRunFields(roots: readonly SelectedField[], variables: Variables): SelectedField[] | null {
  const fields = roots.filter(({ field }) => field.name === 'rateLimit');
  return fields.some((each) => coerceArguments(each, variables)['dryRun'] === true) ? fields : null;
}

/** A selection that requires scopes that the token does not have. */
export interface Withheld {
  readonly selected: SelectedField;
  readonly requiredScopes: readonly Scope[];
  readonly grantedScopes: readonly Scope[];
}

/** Where a selection set is. */
interface Place {
  readonly occurrences: Occurrences;
  readonly level: Level;
  readonly isWithheld: boolean;
  /** Whether the arguments of its fields are changes, in which null removes a value. */
  readonly nullRemoves: boolean;
}

class Walk {
  readonly cost: CostCount;
  readonly personalData: PersonalDataSearch | null;
  readonly withheld: Withheld[] = [];
  tokenNeeded: UnauthenticatedError | null = null;
  guardedInput: ServiceError | null = null;

  constructor(
    private readonly variables: Variables,
    private readonly principal: Principal | null,
    limits: Config['limits'],
    findsPersonalData: boolean,
  ) {
    this.cost = new CostCount(limits);
    this.personalData = findsPersonalData ? new PersonalDataSearch() : null;
  }

  root(isMutation: boolean): Place {
    const level = { path: [], counted: [], isAbstract: false };
    return { occurrences: this.cost.root, level, isWithheld: false, nullRemoves: isMutation };
  }

  visit(fields: Map<string, SelectedField>, place: Place): void {
    const shown: SelectedField[] = [];
    for (const selected of selectedAmong(fields, this.variables)) {
      const given = coerceArguments(selected, this.variables);
      const occurrences = this.cost.add(selected, given, place.occurrences);
      const decision = decideAccess(accessOf(selected.field), this.principal);
      // Each place of a withheld field has an error.
      if (decision === 'scope needed') occurrences.page.values += place.occurrences.values;
      if (!place.isWithheld) this.decide(decision, selected);
      this.checkInputs(selected, given, place.nullRemoves);
      const isWithheld = place.isWithheld || decision !== 'granted';
      if (!isWithheld) shown.push(selected);
      const level = levelBelow(selected, place.level);
      this.visit(selected.children, { occurrences, level, isWithheld, nullRemoves: false });
    }
    this.personalData?.addLevel(shown, fields, place.level);
  }

  private decide(decision: ReturnType<typeof decideAccess>, selected: SelectedField): void {
    if (decision === 'granted') return;
    const requiredScopes = scopesOf(accessOf(selected.field));
    if (decision === 'token needed')
      this.tokenNeeded ??= UnauthenticatedError.tokenNeeded(
        `The field ${coordinateOf(selected)}`,
        requiredScopes,
      );
    else this.withheld.push({ selected, requiredScopes, grantedScopes: grantedScopes(this.principal) });
  }

  /**
   * Finds arguments that select or order by a field that the token cannot read, or change it: the result would show its values.
   */
  private checkInputs({ field }: SelectedField, given: Record<string, unknown>, nullRemoves: boolean): void {
    for (const { name, type } of field.args) {
      if (this.guardedInput !== null) return;
      if (hasGuards(type)) this.guardedInput = refusalOf(type, given[name], this.principal, nullRemoves);
    }
  }
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

/** The error of a value with a member that the token must not give; null if there is none. */
function refusalOf(
  declared: GraphQLInputType,
  value: unknown,
  principal: Principal | null,
  nullRemoves: boolean,
): ServiceError | null {
  const type = getNullableType(declared);
  if (value === null || value === undefined) return null;
  if (isListType(type)) {
    for (const each of [value].flat()) {
      const refusal = refusalOf(type.ofType, each, principal, nullRemoves);
      if (refusal !== null) return refusal;
    }
    return null;
  }
  if (!isInputObjectType(type)) return null;
  for (const member of Object.values(type.getFields())) {
    const given = (value as Readonly<Record<string, unknown>>)[member.name];
    const access = accessOfInput(member);
    if (given === undefined || (given === null && !nullRemoves)) continue;
    if (access !== undefined && decideAccess(access, principal) !== 'granted') {
      const requiredScopes = scopesOf(access);
      const message = scopeNeeded(`The input ${type.name}.${member.name}`, requiredScopes);
      const details = { argument: member.name, requiredScopes, grantedScopes: grantedScopes(principal) };
      return new ServiceError('INSUFFICIENT_SCOPE', message, details);
    }
    const refusal = refusalOf(member.type, given, principal, nullRemoves);
    if (refusal !== null) return refusal;
  }
  return null;
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
