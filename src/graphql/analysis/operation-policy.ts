import { Inject, Injectable } from '@nestjs/common';
import { OperationTypeNode } from 'graphql';
import { nameOfScopes, type Principal } from '../../auth/principal.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { type OperationCost, computeCost } from './operation-cost.js';
import { type Operation, type SelectedField, selectedAmong, type Variables } from './operation.js';
import { findPersonalData, type PersonalDataSelection } from './personal-data-selection.js';
import { findDryRunFields } from './cost-dry-run.js';
import { decideScopes, insufficientScope, type Withheld } from './scope-rule.js';

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
 * Maximum number of cached decisions of one operation. Page sizes that clients choose freely add new ones.
 */
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
      decision = this.decideAnew(operation, variables, principal);
      known.set(key, decision);
    }
    return decision;
  }

  private decideAnew(
    operation: Operation,
    variables: Variables,
    principal: Principal | null,
  ): PolicyDecision {
    const cost = computeCost(operation, variables, this.config.limits);
    const { withheld, nothingLeft } = decideScopes(operation, variables, principal);
    if (nothingLeft) throw insufficientScope(withheld);
    const isMutation =
      operation.definition.operation === OperationTypeNode.MUTATION && changesAnything(operation, variables);
    const footprint =
      this.config.accessLogDays === 0
        ? null
        : findPersonalData(operation, variables, new Set(withheld.map(({ selected }) => selected.key)));
    return {
      cost: cost,
      withheld,
      dryRunFields: findDryRunFields(operation, variables),
      isMutation,
      personalData: footprint,
    };
  }
}

/**
 * Returns the parts of variables on which limits and scopes can depend: booleans of conditions and integers
 * of page sizes. Of all other values, only their presence matters.
 */
function shapeOf({ definition }: Operation, variables: Variables): string {
  let shape = '';
  for (const { variable } of definition.variableDefinitions ?? []) {
    const value = variables[variable.name.value];
    const isTold =
      value === null || value === undefined || typeof value === 'boolean' || Number.isInteger(value);
    shape += isTold ? `${String(value)} ` : '* ';
  }
  return shape;
}

/** Whether the operation selects more than `__typename`. */
function changesAnything({ roots }: Operation, variables: Variables): boolean {
  return [...selectedAmong(roots, variables)].some(({ field }) => field.resolve !== undefined);
}
