import {
  HeaderMap,
  type ApolloServerPlugin,
  type GraphQLRequestContextDidResolveOperation,
  type GraphQLRequestListener,
  type GraphQLResponse,
} from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import { Inject } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import {
  type DocumentNode,
  type FieldNode,
  type FormattedExecutionResult,
  GraphQLError,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { grantedScopes } from '../../auth/principal.js';
import { BadUserInputError, ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { RejectionError, toRejection } from '../../http/rejection.js';
import {
  type OperationRequest,
  type PolicyDecision,
  PolicyWalk,
  type Variables,
} from '../analysis/operation-policy.js';
import { personalDataAccessOf } from '../analysis/personal-data-selection.js';
import { type CachedResponse, nameOf, periodOfUrls, ResponseCache } from '../cache/response-cache.js';
import { formatError, unavailabilityOf } from '../errors/error-response.js';
import type { OperationLabel, RequestContext, ValidatedOperation } from '../http/request-context.js';
import { RateLimiter } from '../rate-limit/rate-limiter.js';
import { Compiler, Executor } from './operations.js';

/** The size of all cached decisions, in characters: they keep the texts of their documents by the names in them. */
const DECISIONS_SIZE = 10_000_000;
/** The size of a decision besides its texts, and of each place of personal data. */
const PLACE_SIZE = 500;
/** Longer operation names are not reported, because clients choose them. */
const LONGEST_LABEL = 40;

type Resolved = GraphQLRequestContextDidResolveOperation<RequestContext>;

/**
 * The plugin of operations. It decides about one as a whole before anything is read (variables, limits, scopes, cost), and answers it
 * from the cache or by executing it.
 */
@Plugin()
export class Operations implements ApolloServerPlugin<RequestContext> {
  private readonly decisions = new LRUCache<string, PolicyDecision>({ maxSize: DECISIONS_SIZE });

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly compiler: Compiler,
    private readonly executor: Executor,
    private readonly limiter: RateLimiter,
    private readonly cache: ResponseCache,
  ) {}

  private readonly listener = Promise.resolve<GraphQLRequestListener<RequestContext>>({
    didResolveOperation: (resolved) => this.applyPolicy(resolved),
    responseForOperation: async ({ contextValue }) => {
      const { cached, validated, id } = contextValue.request;
      try {
        if (cached !== null) return answer(await this.reuse(cached, contextValue.request));
        if (validated === null) throw new Error('The policy of the operation was not applied');
        return answer(await this.execute(validated, contextValue));
      } catch (error) {
        const { status, headers } = toRejection(error);
        const failure = new GraphQLError('', { originalError: error as Error });
        return answer({ errors: [formatError(failure, id)] }, status, headers);
      }
    },
    willSendResponse: ({ response, errors, contextValue }) => {
      this.finish(response, contextValue.request, errors);
      return Promise.resolve();
    },
  });

  requestDidStart(): Promise<GraphQLRequestListener<RequestContext>> {
    return this.listener;
  }

  private async applyPolicy(resolved: Resolved): Promise<void> {
    const { contextValue: context, schema, document, operation, request: sent } = resolved;
    const { request } = context;
    if (operation === undefined) {
      const message = 'The operation to run is not clear: name one of the document in operationName';
      throw new ServiceError('OPERATION_RESOLUTION_FAILURE', message, { argument: 'operationName' });
    }
    if (operation.operation !== OperationTypeNode.QUERY && request.method !== 'POST') {
      const message = `A ${operation.operation} is sent by POST`;
      throw new RejectionError(405, 'METHOD_NOT_ALLOWED', message, { allow: 'POST' });
    }
    const parsed = { schema, document, definition: operation, variables: sent.variables ?? {} };
    context.begin(parsed);
    request.operation = labelOf(operation);
    request.cached = this.cache.find(request);
    const variables = coerceVariables(parsed, this.config);
    const decision = this.decide(resolved, context, variables);
    const { cost, dryRunFields, isCompilable, readsMirror } = decision;
    const isDryRun = dryRunFields !== null;
    if (!isDryRun && readsMirror) await this.cache.revisions.refuseStale(request.maxStaleness);
    await this.limiter.charge(request, cost, isDryRun);
    // Without a token, nothing is registered: it would displace the documents of others.
    if (context.principal === null) resolved.metrics.persistedQueryRegister = false;
    if (request.cached !== null) return;
    request.validated = {
      decision,
      document: isDryRun ? withOnly(dryRunFields, parsed) : parsed.document,
      variables,
      compiled: isCompilable ? this.compiler.find(parsed) : null,
    };
  }

  /** Variables of the same shape lead to the same decision: it depends on the length of a text, and not on its characters. */
  private decide(
    { queryHash, operationName, source }: Resolved,
    { parsed, principal }: RequestContext,
    variables: Variables,
  ): PolicyDecision {
    const scopes = principal === null ? '-' : grantedScopes(principal).join(' ');
    const shape = JSON.stringify(variables, (_, value: unknown) =>
      typeof value === 'string' ? value.length : value,
    );
    const key = `${queryHash} ${operationName}\n${scopes}\n${shape}`;
    const known = this.decisions.get(key);
    if (known !== undefined) return known;
    const decision = new PolicyWalk(parsed, variables, principal, this.config).decide();
    const places = 1 + (decision.personalData?.length ?? 0);
    this.decisions.set(key, decision, { size: key.length + source.length + PLACE_SIZE * places });
    return decision;
  }

  private async reuse(
    { revision, personalData, data }: CachedResponse,
    request: FastifyRequest,
  ): Promise<FormattedExecutionResult> {
    if (revision !== null) request.mirrorRead = await this.cache.revisions.describe(revision);
    request.personalData = personalData;
    return { data };
  }

  private async execute(
    validated: ValidatedOperation,
    context: RequestContext,
  ): Promise<FormattedExecutionResult> {
    const { request } = context;
    const { cacheDependencies, personalData } = validated.decision;
    const period = periodOfUrls(new Date());
    const before = this.cache.revisions.asOf;
    const { data = null, errors = [] } = await this.executor.execute(validated, context);
    const [revision = null, ...others] = context.revisions;
    if (revision !== null) request.mirrorRead = await this.cache.revisions.describe(revision, before);
    if (personalData !== null) request.personalData = personalDataAccessOf(personalData, data);
    // Errors are first (GraphQL October 2021, §7.1).
    if (errors.length > 0) return { errors: errors.map((error) => formatError(error, request.id)), data };
    if (data === null || others.length > 0 || cacheDependencies === null) return { data };
    if (revision !== null || !cacheDependencies.has('mirror')) {
      const name = nameOf(request, context.isPersonal || cacheDependencies.has('subject'), period);
      this.cache.store(name, { data, personalData: request.personalData, revision });
    }
    return { data };
  }

  /** The head of the response: status and headers of its errors. Those that Apollo has found are formatted here. */
  private finish(
    { http, body }: GraphQLResponse,
    { id, parameters }: FastifyRequest,
    found: readonly GraphQLError[] | undefined,
  ): void {
    http.headers.set('cache-control', 'no-store');
    if (body.kind !== 'single') return;
    if (found !== undefined) body.singleResult.errors = found.map((error) => formatError(error, id));
    const { errors } = body.singleResult;
    if (errors === undefined) return;
    // A request by `documentId` is answered as the draft of GraphQL over HTTP says, and not as by Apollo Server.
    const isNamed = parameters?.reference?.member === 'documentId';
    if (isNamed && errors.some(({ extensions }) => extensions?.['code'] === 'PERSISTED_QUERY_NOT_FOUND'))
      http.status = 400;
    // Apollo has no status of its own for what plugins throw.
    const thrown = http.status === 500 ? found?.[0]?.originalError : undefined;
    const rejection = thrown === undefined ? unavailabilityOf(errors) : toRejection(thrown);
    if (rejection === null) return;
    http.status = rejection.status;
    for (const [name, value] of Object.entries(rejection.headers)) http.headers.set(name, value);
  }
}

function answer(
  singleResult: FormattedExecutionResult,
  status?: number,
  headers: Readonly<Record<string, string>> = {},
): GraphQLResponse {
  const head = new HeaderMap(Object.entries(headers));
  return { http: { status, headers: head }, body: { kind: 'single', singleResult } };
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
  throw new BadUserInputError(first?.message ?? 'The variables do not fit the operation', name);
}

function withOnly(
  selections: readonly FieldNode[],
  { document, definition }: OperationRequest,
): DocumentNode {
  const reduced = { ...definition, selectionSet: { kind: Kind.SELECTION_SET, selections } as const };
  const definitions = document.definitions.map((node) => (node === definition ? reduced : node));
  return { ...document, definitions };
}
