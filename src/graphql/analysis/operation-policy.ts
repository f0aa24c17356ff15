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

/** What is decided about an operation, for a token with certain scopes. */
export interface PolicyDecision {
  readonly cost: OperationCost;
  readonly withheld: readonly Withheld[];
  /** The fields `rateLimit(dryRun: true)`, when nothing else is to run. */
  readonly dryRunFields: readonly SelectedField[] | null;
  /** Whether it changes anything, if only for itself. */
  readonly isMutation: boolean;
  /** What it shows of people; null: nothing, or nobody wants to know. */
  readonly personalData: PersonalDataSelection | null;
}

/** Decisions kept of one operation: page sizes that clients choose freely make new ones. */
const MOST_DECISIONS = 50;

/** Decides by limits and scopes: once for all variables that come to the same. */
@Injectable()
export class OperationPolicy {
  /** Decisions of an operation by scopes and the shape of variables. */
  private readonly known = new WeakMap<Operation, Map<string, PolicyDecision>>();

  constructor(@Inject(CONFIG) private readonly config: Config) {}

  /** @throws ServiceError when the operation may not run at all */
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
 * What limits and scopes can depend on: conditions are booleans, page sizes are whole numbers, and of anything else it
 * only matters whether it is there.
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

/** Whether there is more to it than the name of a type. */
function changesAnything({ roots }: Operation, variables: Variables): boolean {
  return [...selectedAmong(roots, variables)].some(({ field }) => field.resolve !== undefined);
}
