import diagnosticsChannel from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import type { ApolloServerPlugin, GraphQLRequestListener } from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import { Inject } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import {
  type DocumentNode,
  getVariableValues,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { type Principal } from '../../auth/principal.js';
import { nameOfScopes } from '../../auth/access.js';
import { BadUserInputError, bounded, ServiceError } from '../../common/errors.js';
import { RejectionError } from '../../http/rejection.js';
import { OperationAdmission } from '../http/load-shedder.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Compiler } from '../execution/operations.js';
import { PersistedDocuments } from '../http/persisted-documents.js';
import type { RequestContext } from '../http/request-context.js';
import type { ValidatedOperation } from '../http/request-state.js';
import { evaluatePolicy, type PolicyDecision, type Withheld } from './operation-policy.js';
import { toGraphQLError, withoutSuggestion } from '../errors/error-response.js';
import { CHARACTERS_OF_VALUE, weightOf } from './operation-cost.js';
import type { Operation, OperationRequest, SelectedField, Variables } from './operation.js';
import { unfoldOperation } from './unfold-operation.js';
import { RateLimiter } from '../rate-limit/rate-limiter.js';
import { ScopedSchemas } from '../schema/schema.js';
import { Revisions } from '../../database/revisions.js';

/** Publishes the RequestContext of each operation that is not cached, before the policy is applied. */
export const operationChannel = diagnosticsChannel.channel('directory:operation');

/** The fields of all cached operations together. One takes about a kilobyte. */
const MAX_FIELDS = 50_000;
/** Cached decisions of one operation. Page sizes that clients choose freely add new ones. */
const MOST_DECISIONS = 50;
/** Maximum characters of the key of a cached decision. Lists make it as long as a request. */
const LONGEST_KEY = 500;

/** The plugin that decides about an operation as a whole, before it reads anything: variables, limits, scopes and cost. */
@Plugin()
export class OperationValidator implements ApolloServerPlugin<RequestContext> {
  private scoped: ScopedSchemas | null = null;
  /** By definition. A short document can unfold to thousands of fields, so the fields are counted. */
  private readonly operations = new LRUCache<OperationDefinitionNode, Operation>({
    maxSize: MAX_FIELDS,
    sizeCalculation: ({ size }) => size,
  });
  /** Decisions of an operation, by scopes and by the shape of the variables. */
  private readonly decisions = new WeakMap<Operation, Map<string, PolicyDecision>>();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly compiler: Compiler,
    private readonly limiter: RateLimiter,
    private readonly revisions: Revisions,
    private readonly admission: OperationAdmission,
    private readonly documents: PersistedDocuments,
  ) {}

  requestDidStart(): Promise<GraphQLRequestListener<RequestContext>> {
    return Promise.resolve({
      didResolveOperation: async ({ contextValue: context, schema, document, operation, request }) => {
        try {
          if (operation === undefined) throw unclearOperation();
          const refusal = refusalOf(operation, context.request.raw);
          if (refusal !== null) throw refusal;
          context.begin({ schema, document, definition: operation, variables: request.variables ?? {} });
          await this.applyPolicy(context, context.request);
        } catch (error) {
          throw toGraphQLError(error, context.requestId);
        }
      },
    });
  }

  /** Applies limits and scopes, and charges the cost. Throws ServiceError. */
  private async applyPolicy(context: RequestContext, request: FastifyRequest): Promise<void> {
    const { parsed, principal } = context;
    const operation = this.unfold(parsed);
    request.operation = operation.label;
    this.admission.begin(request);
    if (operationChannel.hasSubscribers && request.cached === null) operationChannel.publish(context);
    const variables = coerceVariables(parsed, this.config);
    const decision = this.decide(operation, variables, principal);
    const isDryRun = decision.dryRunFields !== null;
    if (!isDryRun && operation.readsMirror) await this.revisions.refuseStale(request.maxStaleness);
    context.cost = decision.cost;
    await this.limiter.charge(request, decision.cost, isDryRun);
    if (request.cached === null) {
      request.validated = isDryRun
        ? dryRunOf(parsed, decision, variables)
        : this.validated(parsed, operation, decision, variables, principal);
    }
    await this.documents.register(request);
  }

  /** Variables that lead to the same decision share one cached decision. */
  private decide(operation: Operation, variables: Variables, principal: Principal | null): PolicyDecision {
    let known = this.decisions.get(operation);
    if (known === undefined || known.size === MOST_DECISIONS) {
      known = new Map();
      this.decisions.set(operation, known);
    }
    const key = `${principal === null ? '-' : nameOfScopes(principal)}\n${shapeOf(operation, variables)}`;
    let decision = known.get(key);
    if (decision === undefined) {
      decision = evaluatePolicy(operation, variables, principal, this.config);
      if (key.length <= LONGEST_KEY) known.set(key, decision);
    }
    return decision;
  }

  private validated(
    { schema, document }: OperationRequest,
    operation: Operation,
    { cost, withheld, isMutation, personalData }: PolicyDecision,
    variables: Variables,
    principal: Principal | null,
  ): ValidatedOperation {
    const isComplete = withheld.length === 0;
    return {
      document,
      schema: this.schemaFor(schema, principal, withheld),
      withheld,
      cacheDependencies: isComplete ? operation.cacheDependencies : null,
      cost,
      isMutation,
      personalData,
      variables,
      compiled: isComplete ? this.compiler.find(schema, operation, variables) : null,
    };
  }

  private unfold({ schema, document, definition }: OperationRequest): Operation {
    let operation = this.operations.get(definition);
    if (operation === undefined) {
      operation = unfoldOperation(schema, document, definition);
      this.operations.set(definition, operation);
    }
    return operation;
  }

  private schemaFor(
    whole: GraphQLSchema,
    principal: Principal | null,
    withheld: readonly Withheld[],
  ): GraphQLSchema {
    // Almost every operation selects only what its token allows.
    if (principal === null || withheld.length === 0) return whole;
    this.scoped ??= new ScopedSchemas(whole);
    return this.scoped.for(principal);
  }
}

function unclearOperation(): ServiceError {
  const message = 'The operation to run is not clear: name one of the document in operationName';
  return new ServiceError('OPERATION_RESOLUTION_FAILURE', message, { argument: 'operationName' });
}

/** The rejection of a GET or HEAD that would change something; otherwise null. */
export function refusalOf(
  { operation }: OperationDefinitionNode,
  { method }: Pick<IncomingMessage, 'method'>,
): RejectionError | null {
  if (method === 'POST' || operation === OperationTypeNode.QUERY) return null;
  const message = `A ${operation} is sent by POST`;
  return new RejectionError(405, 'METHOD_NOT_ALLOWED', message, { allow: 'POST' });
}

/** Executes only the fields `rateLimit(dryRun: true)`. */
function dryRunOf(
  { schema, document, definition }: OperationRequest,
  { cost, dryRunFields }: PolicyDecision,
  variables: Variables,
): ValidatedOperation {
  return {
    cost,
    withheld: [],
    isMutation: false,
    personalData: null,
    document: withOnly(dryRunFields ?? [], definition, document),
    schema,
    cacheDependencies: null,
    variables,
    compiled: null,
  };
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
  const shown = { message: first?.message ?? 'The variables do not fit the operation' };
  const { message } = disclosure.introspection ? shown : withoutSuggestion(shown);
  throw new BadUserInputError(bounded(message), name);
}

/**
 * The parts of variables on which limits, scopes and cost depend: booleans and integers, lengths of lists and of long texts, and
 * which members of objects are present or null. The key of the cache has nothing else, so a decision must not depend on texts.
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
  return shapeInside(value) || '*';
}

/** The members of an object that are present, also as null. Other values decide nothing, but they may be objects. */
function shapeInside(value: unknown): string {
  if (typeof value === 'string') return value.length < CHARACTERS_OF_VALUE ? '' : `"${weightOf(value)}`;
  if (Array.isArray(value)) return `[${value.length}"${weightOf(value)}${value.map(shapeInside).join('')}]`;
  if (typeof value !== 'object' || value === null) return '';
  const present = Object.entries(value).filter(([, each]) => each !== undefined);
  return `{${present.map(([name, each]) => `${name}${each === null ? '-' : shapeInside(each)}`).join(' ')}}`;
}

/** Returns the document with only these fields at the root of an operation. */
function withOnly(
  fields: readonly SelectedField[],
  definition: OperationDefinitionNode,
  document: DocumentNode,
): DocumentNode {
  const selections = fields.flatMap(({ fieldNodes }) => fieldNodes);
  const reduced = { ...definition, selectionSet: { kind: Kind.SELECTION_SET, selections } as const };
  return {
    ...document,
    definitions: document.definitions.map((node) => (node === definition ? reduced : node)),
  };
}
