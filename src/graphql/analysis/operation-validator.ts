import type {
  ApolloServerPlugin,
  GraphQLRequestContextDidResolveOperation,
  GraphQLRequestListener,
} from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import { Inject } from '@nestjs/common';
import {
  type DocumentNode,
  type FieldNode,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { nameOfScopes } from '../../auth/access.js';
import { BadUserInputError, bounded, ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { RejectionError } from '../../http/rejection.js';
import { ResponseCache } from '../cache/response-cache.js';
import { toGraphQLError } from '../errors/error-response.js';
import { Compiler } from '../execution/operations.js';
import { TrustedDocuments } from '../http/documents.js';
import type { RequestContext, OperationLabel } from '../http/request-context.js';
import { RateLimiter } from '../rate-limit/rate-limiter.js';
import {
  evaluatePolicy,
  type OperationRequest,
  type PolicyDecision,
  type Variables,
} from './operation-policy.js';

/** The size of all cached decisions: ten for each, and one for each place of personal data. */
const DECISIONS_SIZE = 50_000;
/** Maximum characters of the key of a cached decision. Lists make it as long as a request. */
const LONGEST_KEY = 1000;
/** Longer operation names are not reported, because clients choose them. */
const LONGEST_LABEL = 40;

type Resolved = GraphQLRequestContextDidResolveOperation<RequestContext>;

/** The plugin that decides about an operation as a whole, before it reads anything: variables, limits, scopes and cost. */
@Plugin()
export class OperationValidator implements ApolloServerPlugin<RequestContext> {
  private readonly decisions = new LRUCache<string, PolicyDecision>({
    maxSize: DECISIONS_SIZE,
    sizeCalculation: ({ personalData }) => 10 + (personalData?.length ?? 0),
  });

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly compiler: Compiler,
    private readonly limiter: RateLimiter,
    private readonly cache: ResponseCache,
    private readonly trusted: TrustedDocuments,
  ) {}

  requestDidStart(): Promise<GraphQLRequestListener<RequestContext>> {
    return Promise.resolve({
      didResolveOperation: async (resolved) => {
        const { contextValue: context, schema, document, operation, request } = resolved;
        try {
          if (operation === undefined) {
            const message = 'The operation to run is not clear: name one of the document in operationName';
            throw new ServiceError('OPERATION_RESOLUTION_FAILURE', message, { argument: 'operationName' });
          }
          if (operation.operation !== OperationTypeNode.QUERY && context.request.method !== 'POST') {
            const message = `A ${operation.operation} is sent by POST`;
            throw new RejectionError(405, 'METHOD_NOT_ALLOWED', message, { allow: 'POST' });
          }
          context.begin({ schema, document, definition: operation, variables: request.variables ?? {} });
          await this.applyPolicy(resolved, context);
          this.trusted.note(resolved.queryHash, resolved.source);
          // Without a token, nothing is registered: it would displace the documents of others.
          if (context.principal === null) resolved.metrics.persistedQueryRegister = false;
        } catch (error) {
          throw toGraphQLError(error, context.requestId);
        }
      },
    });
  }

  private async applyPolicy(resolved: Resolved, context: RequestContext): Promise<void> {
    const { parsed, request } = context;
    request.operation = labelOf(parsed.definition);
    request.cached = this.cache.find(request);
    const variables = coerceVariables(parsed, this.config);
    const decision = this.decide(resolved, context, variables);
    const { cost, dryRunFields, isCompilable, readsMirror } = decision;
    const isDryRun = dryRunFields !== null;
    if (!isDryRun && readsMirror) await this.cache.revisions.refuseStale(request.maxStaleness);
    await this.limiter.charge(request, cost, isDryRun);
    if (request.cached !== null) return;
    request.validated = {
      ...decision,
      document: isDryRun ? withOnly(dryRunFields, parsed) : parsed.document,
      variables,
      compiled: isCompilable ? this.compiler.find(parsed) : null,
    };
  }

  /** Variables of the same shape lead to the same decision: it depends on the length of a text, and not on its characters. */
  private decide(
    { queryHash, operationName }: Resolved,
    { parsed, principal }: RequestContext,
    variables: Variables,
  ): PolicyDecision {
    const scopes = principal === null ? '-' : nameOfScopes(principal);
    const shape = JSON.stringify(variables, (_, value: unknown) =>
      typeof value === 'string' ? value.length : value,
    );
    const key = `${queryHash} ${operationName}\n${scopes}\n${shape}`;
    const known = this.decisions.get(key);
    if (known !== undefined) return known;
    const decision = evaluatePolicy(parsed, variables, principal, this.config);
    if (key.length <= LONGEST_KEY) this.decisions.set(key, decision);
    return decision;
  }
}

function labelOf({ operation, name, selectionSet }: OperationDefinitionNode): OperationLabel {
  const roots = new Set<string>();
  for (const each of selectionSet.selections) {
    const root = each.kind === Kind.FIELD ? each.name.value : 'several';
    if (!root.startsWith('__')) roots.add(root);
  }
  const [field = 'schema', ...others] = roots;
  return {
    type: operation,
    name: name === undefined || name.value.length > LONGEST_LABEL ? null : name.value,
    field: others.length > 0 ? 'several' : field,
  };
}

function coerceVariables(
  { schema, definition, variables }: OperationRequest,
  { disclosure }: Config,
): Variables {
  const options = { maxErrors: 5, hideSuggestions: !disclosure.introspection };
  const declared = definition.variableDefinitions ?? [];
  const { coerced, errors } = getVariableValues(schema, declared, variables, options);
  if (coerced !== undefined) return coerced;
  const [first] = errors;
  const [node] = first?.nodes ?? [];
  const name = node?.kind === Kind.VARIABLE_DEFINITION ? node.variable.name.value : 'variables';
  throw new BadUserInputError(bounded(first?.message ?? 'The variables do not fit the operation'), name);
}

function withOnly(
  selections: readonly FieldNode[],
  { document, definition }: OperationRequest,
): DocumentNode {
  const reduced = { ...definition, selectionSet: { kind: Kind.SELECTION_SET, selections } as const };
  const definitions = document.definitions.map((node) => (node === definition ? reduced : node));
  return { ...document, definitions };
}
