import {
  HeaderMap,
  type ApolloServerPlugin,
  type GraphQLRequestListener,
  type GraphQLResponse,
} from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import { Inject } from '@nestjs/common';
import {
  type ExecutionResult,
  type FormattedExecutionResult,
  getOperationAST,
  GraphQLError,
  type GraphQLFormattedError,
} from 'graphql';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Revisions } from '../../database/revisions.js';
import { completeChallenge } from '../../http/challenges.js';
import { toRejection } from '../../http/rejection.js';
import { refusalOf } from '../analysis/operation-validator.js';
import { insufficientScope, type Withheld } from '../analysis/operation-policy.js';
import { personalDataAccessOf } from '../analysis/personal-data-selection.js';
import { periodOfUrls } from '../cache/cache-policy.decorator.js';
import { type CachedResponse, ResponseCache } from '../cache/response-cache.js';
import { countError, formatError, toGraphQLError, unavailabilityOf } from '../errors/error-response.js';
import { LoadShedder } from '../http/load-shedder.js';
import { GRAPHQL_PATH, type ValidatedOperation } from '../http/request-state.js';
import type { RequestContext } from '../http/request-context.js';
import { Executor } from './operations.js';

interface Executed extends Pick<CachedResponse, 'personalData' | 'revision'> {
  readonly result: FormattedExecutionResult;
  /** Whether this request has executed it. */
  readonly isOwn: boolean;
  /** Whether it has no errors and is of one revision. */
  readonly isComplete: boolean;
  /** Whether another viewer with the same scopes may get another result. */
  readonly isPersonal: boolean;
  /** The period in which the execution began. */
  readonly period: number;
}

/** The data of a cached response, as text. Plugins read them as JSON. */
class CachedData {
  constructor(readonly text: string) {}

  toJSON(): unknown {
    return (JSON.parse(this.text) as FormattedExecutionResult).data;
  }
}

/** What to do with the text of a response, by its data. */
const keepers = new WeakMap<object, (text: string) => void>();
/** The texts of results that several requests share. */
const texts = new WeakMap<object, string>();

/** Writes a response. The text of a cached one is not built again. */
export function writeResult(result: FormattedExecutionResult): string {
  const data = result.data as object | null | undefined;
  if (data instanceof CachedData) return data.text;
  const keep = data ? keepers.get(data) : undefined;
  if (!data || keep === undefined) return JSON.stringify(result);
  const text = texts.get(data) ?? JSON.stringify(result);
  texts.set(data, text);
  keep(text);
  return text;
}

/** The plugin that answers operations: from the cache, with the result of an equal request under way, or by executing them. */
@Plugin()
export class Responses implements ApolloServerPlugin<RequestContext> {
  constructor(
    @Inject(CONFIG) private readonly config: Pick<Config, 'baseUrl'>,
    private readonly executor: Executor,
    private readonly cache: ResponseCache,
    private readonly revisions: Revisions,
    private readonly shedder: LoadShedder,
  ) {}

  requestDidStart(): Promise<GraphQLRequestListener<RequestContext>> {
    return Promise.resolve({
      responseForOperation: ({ contextValue }) => this.respond(contextValue),
      willSendResponse: ({ response, errors, document, operation, request: given, contextValue }) => {
        const { request } = contextValue;
        // A GET must not change anything, even if its document is invalid, which Apollo has found before the policy.
        const definition = document && !operation ? getOperationAST(document, given.operationName) : null;
        const refusal = definition ? refusalOf(definition, request.raw) : null;
        if (refusal !== null) Object.assign(response, rejected(refusal, request));
        this.finish(response, request, errors?.[0]);
        return Promise.resolve();
      },
    });
  }

  private async respond(context: RequestContext): Promise<GraphQLResponse> {
    const { request } = context;
    const { cached, validated } = request;
    try {
      if (cached !== null) return await this.reuse(cached, request);
      if (validated === null) throw new Error('The policy of the operation was not applied');
      return answer(await this.execute(validated, context));
    } catch (error) {
      return rejected(error, request);
    }
  }

  private async reuse(cached: CachedResponse, request: FastifyRequest): Promise<GraphQLResponse> {
    const { revision, personalData, text } = cached;
    if (revision !== null) {
      request.mirrorRead = await this.revisions.describe(revision);
    }
    request.personalData = personalData;
    request.isRevalidated = revision !== null;
    return answer({ data: new CachedData(text) as unknown as Record<string, unknown> });
  }

  private async execute(
    validated: ValidatedOperation,
    context: RequestContext,
  ): Promise<FormattedExecutionResult> {
    const { request } = context;
    const executed = await this.run(validated, context);
    request.personalData = executed.personalData;
    this.keep(executed, validated, request);
    return executed.result;
  }

  private async run(validated: ValidatedOperation, context: RequestContext): Promise<Executed> {
    const period = periodOfUrls(new Date());
    const before = this.revisions.asOf;
    const work = async () => {
      const executed = await this.executor.execute(validated, context);
      const { revisions, isPersonal } = context;
      return { executed, revisions, isPersonal };
    };
    const { request } = context;
    const { result, isOwn } = await this.cache.share(request.cacheKey, validated.cacheDependencies, work);
    const [revision = null, ...others] = result.revisions;
    request.mirrorRead = revision === null ? null : await this.revisions.describe(revision, before);
    const { data = null, errors } = result.executed;
    const personalData =
      validated.personalData === null ? null : personalDataAccessOf(validated.personalData, data);
    return {
      result: resultOf(data, errors, validated, context),
      personalData,
      revision,
      isOwn,
      isComplete: errors === undefined && others.length === 0,
      isPersonal: result.isPersonal,
      period,
    };
  }

  /** Caches the response if an equal request gets the same. */
  private keep(
    { result, isComplete, isPersonal, isOwn, personalData, revision, period: began }: Executed,
    { cacheDependencies: dependencies }: ValidatedOperation,
    request: FastifyRequest,
  ): void {
    const { cacheKey } = request;
    if (!isComplete || cacheKey === null || dependencies === null || !result.data) return;
    const period = dependencies.has('period') ? began : null;
    // It may have URLs of two periods.
    if (period !== null && period !== periodOfUrls(new Date())) return;
    request.isRevalidated = revision !== null;
    if (!isOwn || (revision === null && dependencies.has('mirror'))) return;
    const name = cacheKey.nameFor(isPersonal || dependencies.has('subject'));
    keepers.set(result.data, (text) => {
      this.cache.store({ name, text, period, personalData, revision });
    });
  }

  /** The head of the response: status and headers of its errors, and their request id. */
  private finish({ http, body }: GraphQLResponse, request: FastifyRequest, error?: GraphQLError): void {
    if (request.isUnderWay) this.shedder.end();
    request.isUnderWay = false;
    request.isAnswered = true;
    http.headers.set('content-type', request.responseType ?? '');
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
    // Apollo's own status is for errors of other plugins.
    const isForeign = !('data' in singleResult) && http.status === 500 && error?.originalError !== undefined;
    const rejection = isForeign ? toRejection(error.originalError) : unavailabilityOf(errors);
    if (rejection !== null) {
      http.status = rejection.status;
      for (const [name, value] of Object.entries(rejection.headers)) http.headers.set(name, value);
    }
    const challenge = http.headers.get('www-authenticate');
    if (challenge === undefined) return;
    const given = { 'www-authenticate': challenge };
    const completed = completeChallenge(given, true, this.config.baseUrl, GRAPHQL_PATH);
    http.headers.set('www-authenticate', completed['www-authenticate'] ?? challenge);
  }
}

function rejected(error: unknown, { id }: FastifyRequest): GraphQLResponse {
  const failure = toGraphQLError(error, id);
  const { status, headers } = failure.extensions['http'] as { status: number; headers: HeaderMap };
  const errors = [formatError(failure.toJSON(), failure, id)];
  return { http: { status, headers }, body: { kind: 'single', singleResult: { errors } } };
}

function answer(singleResult: FormattedExecutionResult): GraphQLResponse {
  return { http: { headers: new HeaderMap() }, body: { kind: 'single', singleResult } };
}
/** The result for the client, with errors first (GraphQL October 2021, §7.1). */
function resultOf(
  data: ExecutionResult['data'],
  errors: ExecutionResult['errors'],
  { withheld }: ValidatedOperation,
  context: RequestContext,
): FormattedExecutionResult {
  const failed = errors?.map((error) => formatError(error.toJSON(), error, context.requestId)) ?? [];
  const without = data ? withheld.flatMap((each) => [...withheldErrors(each, context)]) : [];
  const formatted = [...failed, ...without];
  return {
    ...(formatted.length === 0 ? null : { errors: formatted }),
    data: data ?? null,
  };
}

/** The errors of a withheld selection: one for each of its places. The first has all details, the others only the code. */
function* withheldErrors(withheld: Withheld, context: RequestContext): Generator<GraphQLFormattedError> {
  let first: GraphQLFormattedError | null = null;
  for (const path of context.withheldAt.get(withheld.selected.key) ?? []) {
    if (first === null) {
      const originalError = insufficientScope([withheld]);
      const nodes = withheld.selected.fieldNodes;
      const error = new GraphQLError(originalError.message, { nodes, path, originalError });
      yield (first = formatError(error.toJSON(), error, context.requestId));
    } else {
      countError('INSUFFICIENT_SCOPE');
      yield { ...first, path, extensions: { code: 'INSUFFICIENT_SCOPE' } };
    }
  }
}
