import { Inject, Injectable } from '@nestjs/common';
import { OperationTypeNode, type DocumentNode, type GraphQLSchema } from 'graphql';
import { nameOfScopes, type Principal, grantedScopes, type Scope } from '../../auth/principal.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { type OperationCost, computeCost, findDryRunFields } from './operation-cost.js';
import { type Operation, type SelectedField, selectedAmong, type Variables, accessOf } from './operation.js';
import { findPersonalData, type PersonalDataSelection } from './personal-data-selection.js';
import type { CacheDependency } from '../cache/cache-policy.decorator.js';
import type { CompiledQuery } from '../execution/compiler.js';
import type { DeprecatedUses } from './deprecated-uses.js';
import { refuseGuardedInputs } from './guarded-inputs.js';
import { decideAccess, scopesOf } from '../../auth/access.js';
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

/** Cached decisions of one operation. Page sizes that clients choose freely add new ones. */
const MOST_DECISIONS = 50;

/** Decides by limits and scopes. Variables that lead to the same decision share one cached decision. */
@Injectable()
export class OperationPolicy {
  /** Decisions of an operation, by scopes and by the shape of the variables. */
  private readonly known = new WeakMap<Operation, Map<string, PolicyDecision>>();

  constructor(@Inject(CONFIG) private readonly config: Config) {}

  /** @throws ServiceError when the operation must not run at all */
  decide(operation: Operation, variables: Variables, principal: Principal | null): PolicyDecision {
    let known = this.known.get(operation);
    if (known === undefined || known.size === MOST_DECISIONS) {
      known = new Map();
      this.known.set(operation, known);
    }
    const key = `${principal === null ? '-' : nameOfScopes(principal)}\n${shapeOf(operation, variables)}`;
    let decision = known.get(key);
    if (decision === undefined) {
      decision = this.evaluate(operation, variables, principal);
      known.set(key, decision);
    }
    return decision;
  }

  private evaluate(operation: Operation, variables: Variables, principal: Principal | null): PolicyDecision {
    const cost = computeCost(operation, variables, this.config.limits);
    const { withheld, nothingLeft } = decideScopes(operation, variables, principal);
    if (nothingLeft) throw insufficientScope(withheld);
    refuseGuardedInputs(operation.roots, variables, principal);
    const hidden = new Set(withheld.map(({ selected }) => selected.key));
    return {
      cost,
      withheld,
      dryRunFields: findDryRunFields(operation, variables),
      isMutation: changesAnything(operation, variables),
      personalData: this.config.accessLogDays === 0 ? null : findPersonalData(operation, variables, hidden),
    };
  }
}

/**
 * The parts of variables on which limits, scopes and cost depend: booleans and integers, lengths of lists, and which
 * members of objects are present. The key of the cache has nothing else, so a decision must not depend on texts.
 */
function shapeOf({ definition }: Operation, variables: Variables): string {
  let shape = '';
  for (const { variable } of definition.variableDefinitions ?? []) {
    shape += `${shapeOfValue(variables[variable.name.value])} `;
  }
  return shape;
}

function shapeOfValue(value: unknown): string {
  if (value === null || value === undefined || typeof value === 'boolean' || Number.isInteger(value))
    return String(value);
  if (Array.isArray(value)) return `[${value.length}${value.map(shapeInside).join('')}]`;
  return shapeInside(value) || '*';
}

/** The members of an object that are present. Their values decide nothing, but they may be objects. */
function shapeInside(value: unknown): string {
  if (typeof value !== 'object' || value === null) return '';
  if (Array.isArray(value)) return value.map(shapeInside).join('');
  const present = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  return `{${present.map(([name, each]) => `${name}${shapeInside(each)}`).join(' ')}}`;
}

/** Whether it is a mutation that selects more than `__typename`. */
function changesAnything({ definition, roots }: Operation, variables: Variables): boolean {
  return (
    definition.operation === OperationTypeNode.MUTATION &&
    [...selectedAmong(roots, variables)].some(({ field }) => field.resolve !== undefined)
  );
}

export interface ValidatedOperation extends Omit<PolicyDecision, 'dryRunFields'> {
  readonly document: DocumentNode;
  /** The schema restricted to the scopes of the token. */
  readonly schema: GraphQLSchema;
  /** What its result depends on; null if it cannot be cached. */
  readonly cacheDependencies: ReadonlySet<CacheDependency> | null;
  /** The deprecated elements that it uses; null if there are none. */
  readonly deprecated: DeprecatedUses | null;
  readonly variables: Variables;
  /** Null if graphql-js executes it. */
  readonly compiled: CompiledQuery | null;
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

/** The error of a request whose root fields are all withheld. */
function insufficientScope(withheld: readonly Withheld[]): ServiceError {
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
