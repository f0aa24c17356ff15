import diagnosticsChannel from 'node:diagnostics_channel';
import { Inject, Injectable } from '@nestjs/common';
import {
  type DocumentNode,
  getVariableValues,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Principal } from '../../auth/principal.js';
import { BadUserInputError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { type CompiledQuery, Compiler } from '../execution/compiler.js';
import { OperationPolicy } from './operation-policy.js';
import type { CacheDependency } from '../cache/cache-policy.decorator.js';
import { withoutSuggestion } from '../errors/error-response.js';
import type { PersonalDataSelection } from './personal-data-selection.js';
import { type DeprecatedUses, findDeprecatedUses } from './deprecated-uses.js';
import type { OperationCost } from './operation-cost.js';
import { type Operation, unfoldOperation, type Variables } from './operation.js';
import { labelOf } from './operation-label.js';
import { RateLimiter } from '../rate-limit/rate-limiter.js';
import { withOnly } from './cost-dry-run.js';
import type { RequestContext } from '../http/request-context.js';
import { ScopedSchemas } from '../schema/schema.js';
import type { Withheld } from './scope-rule.js';
import { Staleness } from '../../database/staleness.js';

/** Whoever listens is told of an operation, by its RequestContext, before anything is decided about it. */
export const operationChannel = diagnosticsChannel.channel('directory:operation');

/** What a valid document asks for, of the operation that is to run. */
export interface OperationRequest {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly definition: OperationDefinitionNode;
  readonly variables: Variables;
}

/** An operation that has passed every check and may run. */
export interface ValidatedOperation {
  readonly document: DocumentNode;
  /** The schema as the token's scopes show it. */
  readonly schema: GraphQLSchema;
  readonly withheld: readonly Withheld[];
  /** What its answer depends on, if it can be remembered; null: it cannot. */
  readonly cacheDependencies: ReadonlySet<CacheDependency> | null;
  readonly cost: OperationCost;
  /** Whether it changes anything, if only for itself. */
  readonly isMutation: boolean;
  /** What its answer shows of people; null: nothing. */
  readonly personalData: PersonalDataSelection | null;
  /** What it uses that is deprecated; null: nothing. */
  readonly deprecated: DeprecatedUses | null;
  /** Its variables, coerced. */
  readonly variables: Variables;
  /** The function that answers it; null: graphql-js executes it. */
  readonly compiled: CompiledQuery | null;
}

/** An operation, with what else is worked out once a document. */
type KnownOperation = Operation & Pick<ValidatedOperation, 'deprecated'>;

/** Fields of the operations that are remembered, all together. One takes about a kilobyte. */
const REMEMBERED_FIELDS = 50_000;

/** Decides about an operation as a whole, before any of it is read: variables, limits, scopes and price. */
@Injectable()
export class OperationValidator {
  private scoped: ScopedSchemas | null = null;
  /** By what they were made of. A short document can unfold to thousands of fields: they are counted. */
  private readonly operations = new LRUCache<OperationDefinitionNode, KnownOperation>({
    maxSize: REMEMBERED_FIELDS,
    sizeCalculation: ({ size }) => size,
  });

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly decisions: OperationPolicy,
    private readonly compiler: Compiler,
    private readonly limiter: RateLimiter,
    private readonly staleness: Staleness,
  ) {}

  /** @throws ServiceError when the operation may not run at all */
  async validate(question: OperationRequest, context: RequestContext): Promise<ValidatedOperation> {
    const { schema, document, definition } = question;
    const operation = this.unfold(question);
    context.request.operation = labelOf(operation);
    if (operationChannel.hasSubscribers) operationChannel.publish(context);
    const variables = coerceVariables(question, this.config);
    const { principal, request } = context;
    const decision = this.decisions.decide(operation, variables, principal);
    const {
      cost: measure,
      withheld,
      dryRunFields: rehearsal,
      isMutation,
      personalData: footprint,
    } = decision;
    if (rehearsal === null && operation.readsMirror) await this.staleness.refuse(request.maxStaleness);
    context.charge = await this.limiter.charge(request, measure, rehearsal !== null);
    if (rehearsal !== null) {
      return {
        document: withOnly(rehearsal, definition, document),
        schema,
        withheld: [],
        cacheDependencies: null,
        cost: measure,
        isMutation: false,
        personalData: null,
        deprecated: operation.deprecated,
        variables,
        compiled: null,
      };
    }
    const reachesAll = withheld.length === 0;
    return {
      document,
      schema: this.schemaFor(schema, principal, withheld),
      withheld,
      cacheDependencies: reachesAll ? operation.cacheDependencies : null,
      cost: measure,
      isMutation,
      personalData: footprint,
      deprecated: operation.deprecated,
      variables,
      compiled: reachesAll ? this.compiler.find(schema, operation, variables) : null,
    };
  }

  private unfold({ schema, document, definition }: OperationRequest): KnownOperation {
    let operation = this.operations.get(definition);
    if (operation === undefined) {
      const deprecated = findDeprecatedUses(schema, document, definition);
      operation = { ...unfoldOperation(schema, document, definition), deprecated };
      this.operations.set(definition, operation);
    }
    return operation;
  }

  private schemaFor(
    whole: GraphQLSchema,
    principal: Principal | null,
    withheld: readonly Withheld[],
  ): GraphQLSchema {
    // Almost every operation asks for what its token reaches, and needs no other schema.
    if (principal === null || withheld.length === 0) return whole;
    this.scoped ??= new ScopedSchemas(whole);
    return this.scoped.for(principal);
  }
}

function coerceVariables(
  { schema, definition, variables }: OperationRequest,
  { disclosure }: Config,
): Variables {
  const { coerced, errors } = getVariableValues(schema, definition.variableDefinitions ?? [], variables, {
    maxErrors: 5,
  });
  if (coerced !== undefined) return coerced;
  const [first] = errors;
  const [node] = first?.nodes ?? [];
  const name = node?.kind === Kind.VARIABLE_DEFINITION ? node.variable.name.value : 'variables';
  const told = { message: first?.message ?? 'The variables do not fit the operation' };
  throw new BadUserInputError((disclosure.suggestions ? told : withoutSuggestion(told)).message, name);
}
