import type {
  ApolloServerPlugin,
  GraphQLRequestContext,
  GraphQLRequestContextDidResolveOperation,
  GraphQLRequestListener,
  GraphQLResponse,
} from '@apollo/server';
import { HeaderMap } from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import { Inject } from '@nestjs/common';
import {
  type DocumentNode,
  execute,
  getOperationAST,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import { getVariableValues } from 'graphql';
import type { Principal } from '../auth/principal.js';
import { BadUserInputError, ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { formatError, httpOf, toGraphQLError } from './error-response.js';
import { measureOperation } from './limits.js';
import {
  type Operation,
  type SelectedField,
  selectedAmong,
  unfoldOperation,
  type Variables,
} from './operation.js';
import { countedAs, RateLimiter } from './rate-limiter.js';
import type { RequestContext } from './request-context.js';
import { ScopedSchemas } from './schema.js';
import { decideScopes, type Withheld } from './scope-rule.js';

/** An operation that has passed every check and may run. */
interface Admitted {
  readonly document: DocumentNode;
  readonly schema: GraphQLSchema;
  readonly withheld: readonly Withheld[];
}

/**
 * What happens between a valid document and its answer: variables, limits, scopes and price are decided for the
 * operation as a whole, and then it is executed on the schema that the token's scopes show.
 */
@Plugin()
export class ExecutionPlugin implements ApolloServerPlugin<RequestContext> {
  private scoped: ScopedSchemas | null = null;
  /** Apollo keeps parsed documents; what was made of one lives as long as it does. */
  private readonly operations = new WeakMap<DocumentNode, Map<OperationDefinitionNode, Operation>>();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly limiter: RateLimiter,
  ) {}

  requestDidStart(): Promise<GraphQLRequestListener<RequestContext>> {
    let admitted: Admitted | null = null;
    return Promise.resolve({
      didResolveOperation: async (context) => {
        admitted = await refusing(() => this.admit(context));
      },
      responseForOperation: (context) => {
        if (admitted === null) throw new Error('An operation is executed that was not admitted');
        return run(context, admitted);
      },
      willSendResponse: (context) => {
        refuseMutationByGet(context);
        reportUnavailability(context);
        nameRequest(context);
        return Promise.resolve();
      },
    });
  }

  private async admit(
    context: GraphQLRequestContextDidResolveOperation<RequestContext>,
  ): Promise<Admitted | null> {
    const { document, operation: definition, contextValue, schema, request } = context;
    if (!definition) {
      throw new ServiceError(
        'OPERATION_RESOLUTION_FAILURE',
        'The operation to run cannot be told: name one in operationName',
      );
    }
    const operation = this.unfold(schema, document, definition);
    const variables = coerceVariables(schema, definition, request.variables ?? {});
    const measure = measureOperation(operation, variables, this.config.limits);
    const { principal } = contextValue;
    const decision = decideScopes(operation, variables, principal);
    if (decision.nothingLeft) throw insufficientScope(decision.withheld);
    const rehearsal = findRehearsal(operation, variables);
    const who = countedAs(principal, contextValue.request.ip);
    contextValue.charge = await this.limiter.charge(who, measure, rehearsal !== null);
    return {
      document: rehearsal === null ? document : onlyThese(rehearsal, definition, document),
      schema: this.schemaFor(schema, principal, decision.withheld),
      withheld: rehearsal === null ? decision.withheld : [],
    };
  }

  private unfold(
    schema: GraphQLSchema,
    document: DocumentNode,
    definition: OperationDefinitionNode,
  ): Operation {
    const known = this.operations.get(document) ?? new Map<OperationDefinitionNode, Operation>();
    this.operations.set(document, known);
    let operation = known.get(definition);
    if (operation === undefined) {
      operation = unfoldOperation(schema, document, definition);
      known.set(definition, operation);
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

/** Errors of the checks refuse the request as a whole: HTTP tells them too. */
async function refusing<Result>(check: () => Promise<Result>): Promise<Result> {
  try {
    return await check();
  } catch (error) {
    throw error instanceof ServiceError ? toGraphQLError(error, { refuses: true }) : error;
  }
}

function coerceVariables(
  schema: GraphQLSchema,
  definition: OperationDefinitionNode,
  given: Variables,
): Variables {
  const { coerced, errors } = getVariableValues(schema, definition.variableDefinitions ?? [], given, {
    maxErrors: 5,
  });
  if (coerced !== undefined) return coerced;
  const [first] = errors;
  const name =
    first?.nodes?.[0]?.kind === Kind.VARIABLE_DEFINITION ? first.nodes[0].variable.name.value : 'variables';
  throw new BadUserInputError(first?.message ?? 'The variables do not fit the operation', name);
}

function insufficientScope(withheld: readonly Withheld[]): ServiceError {
  const requiredScopes = [...new Set(withheld.flatMap((selection) => selection.requiredScopes))];
  const [first] = withheld;
  return new ServiceError('INSUFFICIENT_SCOPE', scopeMessage(first), {
    requiredScopes,
    grantedScopes: first?.grantedScopes ?? [],
  });
}

function scopeMessage(withheld: Withheld | undefined): string {
  const { selected, requiredScopes = [] } = withheld ?? {};
  const scopes =
    requiredScopes.length === 1
      ? `the scope ${requiredScopes.join()}`
      : `the scopes ${requiredScopes.join(' and ')}`;
  return `The field ${selected?.parentType.name ?? ''}.${selected?.field.name ?? ''} is not accessible with this token: it needs ${scopes}.`;
}

/** The fields `rateLimit(dryRun: true)` of an operation; null when there are none and it is meant to run. */
function findRehearsal({ roots }: Operation, variables: Variables): SelectedField[] | null {
  const fields = [...selectedAmong(roots, variables)].filter(({ field }) => field.name === 'rateLimit');
  const asked = fields.some(({ nodes }) =>
    nodes.some((node) =>
      node.arguments?.some(({ name, value }) => {
        if (name.value !== 'dryRun') return false;
        return value.kind === Kind.VARIABLE
          ? variables[value.name.value] === true
          : value.kind === Kind.BOOLEAN && value.value;
      }),
    ),
  );
  return asked ? fields : null;
}

/** The document with nothing but these root fields in its operation. */
function onlyThese(
  fields: SelectedField[],
  definition: OperationDefinitionNode,
  document: DocumentNode,
): DocumentNode {
  const selections = fields.flatMap(({ nodes }) => nodes);
  return {
    ...document,
    definitions: document.definitions.map((node) =>
      node === definition ? { ...definition, selectionSet: { kind: Kind.SELECTION_SET, selections } } : node,
    ),
  };
}

async function run(
  context: GraphQLRequestContext<RequestContext>,
  admitted: Admitted,
): Promise<GraphQLResponse> {
  const { contextValue, request } = context;
  const result = await execute({
    schema: admitted.schema,
    document: admitted.document,
    contextValue,
    variableValues: request.variables ?? {},
    operationName: request.operationName ?? null,
  });
  const errors = [
    ...(result.errors ?? []),
    ...admitted.withheld.map((selection) => withheldError(selection, contextValue)),
  ];
  const formatted = errors.map((error) => formatError(error.toJSON(), error, contextValue.requestId));
  return {
    http: { headers: new HeaderMap() },
    body: {
      kind: 'single',
      singleResult: { data: result.data ?? null, ...(formatted.length > 0 ? { errors: formatted } : {}) },
    },
  };
}

function withheldError(withheld: Withheld, { withheldAt }: RequestContext): GraphQLError {
  const { selected, requiredScopes, grantedScopes } = withheld;
  const error = new ServiceError('INSUFFICIENT_SCOPE', scopeMessage(withheld), {
    requiredScopes,
    grantedScopes,
  });
  const path = withheldAt.get(selected.key);
  return new GraphQLError(error.message, {
    nodes: selected.nodes,
    originalError: error,
    ...(path === undefined ? {} : { path }),
  });
}

/** Apollo validates first, and answers 400 where the schema has no mutations: a GET must not even try. */
function refuseMutationByGet({
  request,
  document,
  response,
  contextValue,
}: GraphQLRequestContext<RequestContext>): void {
  if (request.http?.method !== 'GET' || document === undefined) return;
  const operation = getOperationAST(document, request.operationName);
  if (!operation || operation.operation === 'query') return;
  const error = new ServiceError('METHOD_NOT_ALLOWED', `A ${operation.operation} is sent by POST`);
  const graphQLError = toGraphQLError(error, { refuses: false });
  response.http.status = 405;
  response.http.headers.set('allow', 'POST');
  response.body = {
    kind: 'single',
    singleResult: { errors: [formatError(graphQLError.toJSON(), graphQLError, contextValue.requestId)] },
  };
}

/** When the database went away under an operation, HTTP says so too: proxies and clients try again by it. */
function reportUnavailability({ response }: GraphQLRequestContext<RequestContext>): void {
  if (response.body?.kind !== 'single') return;
  const errors: readonly GraphQLFormattedError[] = response.body.singleResult.errors ?? [];
  const code = errors
    .map((error) => error.extensions?.['code'])
    .find((each) => each === 'SERVICE_UNAVAILABLE' || each === 'TIMEOUT');
  if (code === undefined) return;
  const { status, headers } = httpOf(new ServiceError(code, '', { retryAfter: 1 }));
  response.http.status = status;
  for (const [name, value] of headers) response.http.headers.set(name, value);
}

/** Every error says which request it belongs to, those that Apollo formatted included. */
function nameRequest({ response, contextValue }: GraphQLRequestContext<RequestContext>): void {
  if (response.body?.kind !== 'single') return;
  const { errors } = response.body.singleResult;
  if (errors === undefined) return;
  response.body.singleResult.errors = errors.map((error) => ({
    ...error,
    extensions: { ...error.extensions, requestId: contextValue.requestId },
  }));
}
