import {
  HeaderMap,
  type ApolloServerPlugin,
  type GraphQLRequestListener,
  type GraphQLResponse,
} from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import type { FastifyRequest } from 'fastify';
import { type FormattedExecutionResult, type GraphQLError, type GraphQLFormattedError } from 'graphql';
import { toRejection } from '../../http/rejection.js';
import { personalDataAccessOf } from '../analysis/personal-data-selection.js';
import { type CachedResponse, nameOf, periodOfUrls, ResponseCache } from '../cache/response-cache.js';
import { countError, formatError, toGraphQLError, unavailabilityOf } from '../errors/error-response.js';
import type { RequestContext, ValidatedOperation, Withheld } from '../http/request-context.js';
import { Executor } from './operations.js';

/** The plugin that answers operations: from the cache, or by executing them. */
@Plugin()
export class Responses implements ApolloServerPlugin<RequestContext> {
  constructor(
    private readonly executor: Executor,
    private readonly cache: ResponseCache,
  ) {}

  private readonly listener = Promise.resolve<GraphQLRequestListener<RequestContext>>({
    responseForOperation: async ({ contextValue }) => {
      const { cached, validated, id } = contextValue.request;
      try {
        if (cached !== null) return answer(await this.reuse(cached, contextValue.request));
        if (validated === null) throw new Error('The policy of the operation was not applied');
        return answer(await this.execute(validated, contextValue));
      } catch (error) {
        return rejected(error, id);
      }
    },
    willSendResponse: ({ response, errors, contextValue }) => {
      this.finish(response, contextValue.request, errors?.[0]);
      return Promise.resolve();
    },
  });

  requestDidStart(): Promise<GraphQLRequestListener<RequestContext>> {
    return this.listener;
  }

  private async reuse(
    { revision, personalData, data }: CachedResponse,
    request: FastifyRequest,
  ): Promise<FormattedExecutionResult> {
    if (revision !== null) request.mirrorRead = await this.cache.revisions.describe(revision);
    request.personalData = personalData;
    request.isRevalidated = revision !== null;
    return { data };
  }

  private async execute(
    validated: ValidatedOperation,
    context: RequestContext,
  ): Promise<FormattedExecutionResult> {
    const { request } = context;
    const { cacheDependencies } = validated;
    const period = periodOfUrls(new Date());
    const before = this.cache.revisions.asOf;
    const { data = null, errors = [] } = await this.executor.execute(validated, context);
    const [revision = null, ...others] = context.revisions;
    if (revision !== null) request.mirrorRead = await this.cache.revisions.describe(revision, before);
    if (validated.personalData !== null)
      request.personalData = personalDataAccessOf(validated.personalData, data);
    const formatted = formatAll(errors, data === null ? [] : [...context.withheld.values()], request.id);
    // Errors are first (GraphQL October 2021, §7.1).
    if (formatted.length > 0) return { errors: formatted, data };
    if (data === null || others.length > 0 || cacheDependencies === null) return { data };
    request.isRevalidated = revision !== null;
    if (revision !== null || !cacheDependencies.has('mirror')) {
      const name = nameOf(request, context.isPersonal || cacheDependencies.has('subject'), period);
      this.cache.store(name, { data, personalData: request.personalData, revision });
    }
    return { data };
  }

  /** The head of the response: status and headers of its errors, and their request id. */
  private finish({ http, body }: GraphQLResponse, request: FastifyRequest, error?: GraphQLError): void {
    http.headers.set('cache-control', 'no-store');
    if (body.kind !== 'single' || body.singleResult.errors === undefined) return;
    const { singleResult } = body;
    // formatError does not know the request of errors that Apollo finds.
    const errors = body.singleResult.errors.map((each) =>
      each.extensions?.['requestId'] === ''
        ? { ...each, extensions: { ...each.extensions, requestId: request.id } }
        : each,
    );
    singleResult.errors = errors;
    // A request by `documentId` is answered as the draft of GraphQL over HTTP says, and not as by Apollo Server.
    const isNamed = request.parameters?.reference?.member === 'documentId';
    if (isNamed && errors[0]?.extensions?.['code'] === 'PERSISTED_QUERY_NOT_FOUND') http.status = 400;
    const isRefused = !('data' in singleResult);
    this.finishRefusal(http, isRefused ? error?.originalError : undefined, errors);
  }

  private finishRefusal(
    http: GraphQLResponse['http'],
    refusal: Error | undefined,
    errors: readonly GraphQLFormattedError[],
  ): void {
    // Apollo's own status is for errors of other plugins.
    const isForeign = http.status === 500 && refusal !== undefined;
    const rejection = isForeign ? toRejection(refusal) : unavailabilityOf(errors);
    if (rejection !== null) http.status = rejection.status;
    for (const [name, value] of Object.entries(rejection?.headers ?? {})) http.headers.set(name, value);
  }
}

function rejected(error: unknown, requestId: string): GraphQLResponse {
  const failure = toGraphQLError(error, requestId);
  const { status, headers } = failure.extensions['http'] as { status: number; headers: HeaderMap };
  const errors = [formatError(failure.toJSON(), failure, requestId)];
  return { http: { status, headers }, body: { kind: 'single', singleResult: { errors } } };
}

function answer(singleResult: FormattedExecutionResult): GraphQLResponse {
  return { http: { headers: new HeaderMap() }, body: { kind: 'single', singleResult } };
}

/** The errors for the client. Of those of a withheld selection, the first has all details, and the others only the code. */
function formatAll(errors: readonly GraphQLError[], withheld: readonly Withheld[], requestId: string) {
  const format = (error: GraphQLError) => formatError(error.toJSON(), error, requestId);
  const ofSelections = withheld.flatMap(({ error, paths: [, ...others] }) => {
    const first = format(error);
    const repeated = others.map((path) => {
      countError('INSUFFICIENT_SCOPE');
      return { ...first, path, extensions: { code: 'INSUFFICIENT_SCOPE' } };
    });
    return [first, ...repeated];
  });
  return [...errors.map(format), ...ofSelections];
}
