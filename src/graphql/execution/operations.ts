import { Injectable } from '@nestjs/common';
import { type FormattedExecutionResult, execute, type ExecutionResult, GraphQLError } from 'graphql';
import { AccessLog } from '../../access-log/access-log.js';
import type { PersonalDataAccess } from '../../access-log/personal-data.decorator.js';
import { Staleness } from '../../database/staleness.js';
import { type ValidatedOperation, type Withheld, withheldError } from '../analysis/operation-policy.js';
import { personalDataAccessOf } from '../analysis/personal-data-selection.js';
import {
  type FlightKey,
  minuteOf,
  ResponseCache,
  SingleFlight,
  withSubject,
} from '../cache/response-cache.js';
import { formatError, unavailabilityOf } from '../errors/error-response.js';
import type { PipelineRequest, PipelineResponse } from '../http/pipeline-request.js';
import type { RequestContext } from '../http/request-context.js';
import { ServiceUnavailableError } from '../../common/errors.js';
import { Database } from '../../database/database.js';

/** Attempts to read one revision without a transaction. */
const MAX_ATTEMPTS = 3;

@Injectable()
export class Executor {
  constructor(private readonly database: Database) {}

  execute(operation: ValidatedOperation, context: RequestContext): Promise<ExecutionResult> {
    return operation.isMutation
      ? this.executeInTransaction(operation, context)
      : this.query(operation, context);
  }

  /**
   * Executes a query, again if it has read from two revisions: that is rare, and statements without a transaction
   * are faster. After the last attempt it runs in one transaction.
   */
  private async query(operation: ValidatedOperation, context: RequestContext): Promise<ExecutionResult> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const result = await this.executeOnce(operation, context);
      if (context.revisions.size < 2) return result;
      context.reset();
    }
    return this.executeInTransaction(operation, context);
  }

  /** Executes the operation in one transaction, which is rolled back. Each mutation sees those before it. */
  private async executeInTransaction(
    operation: ValidatedOperation,
    context: RequestContext,
  ): Promise<ExecutionResult> {
    try {
      return await this.database.previewTransaction((transaction) => {
        context.startPreview(transaction);
        return this.executeOnce(operation, context);
      }, context.viewer);
    } catch (error) {
      const originalError =
        error instanceof Error ? error : new Error('The transaction failed for an unknown reason');
      return { data: null, errors: [new GraphQLError(originalError.message, { originalError })] };
    }
  }

  private async executeOnce(
    operation: ValidatedOperation,
    context: RequestContext,
  ): Promise<ExecutionResult> {
    const { data, errors = [] } = await this.run(operation, context);
    const all = [...errors, ...operation.withheld.map((each) => errorOf(each, context))];
    return { data: data ?? null, ...(all.length > 0 ? { errors: all } : {}) };
  }

  private async run(
    { compiled, schema, document, variables: coerced }: ValidatedOperation,
    contextValue: RequestContext,
  ): Promise<ExecutionResult> {
    const { variables, definition } = contextValue.parsed;
    if (compiled !== null) {
      const result = await compiled(contextValue, coerced, variables);
      if (!hasSeveralErrors(result)) return result;
      contextValue.reset();
    }
    const operationName = definition.name?.value;
    return execute({ schema, document, contextValue, variableValues: variables, operationName });
  }
}

/**
 * graphql-js reports only the errors before it discards a part of the result, and compiled operations all of
 * them. graphql-js therefore repeats such an operation, unless the database could not be reached.
 */
function hasSeveralErrors({ errors = [] }: ExecutionResult): boolean {
  return (
    errors.length > 1 && !errors.some(({ originalError }) => originalError instanceof ServiceUnavailableError)
  );
}

function errorOf(withheld: Withheld, { withheldAt }: RequestContext): GraphQLError {
  const error = withheldError(withheld);
  const path = withheldAt.get(withheld.selected.key);
  return new GraphQLError(error.message, {
    nodes: withheld.selected.nodes,
    originalError: error,
    ...(path === undefined ? {} : { path }),
  });
}

interface Executed {
  readonly result: FormattedExecutionResult;
  /** Null if no personal data is in it. */
  readonly personalData: PersonalDataAccess | null;
  /** The id of the revision that was read; null if nothing of the mirror was read. */
  readonly revision: string | null;
  readonly isCacheable: boolean;
  /** Whether another viewer with the same scopes may get another result. */
  readonly isPersonal: boolean;
  /** The minute in which the execution began. */
  readonly minute: number;
}

/** The steps that execute a validated operation, write the response and cache it. */
@Injectable()
export class Operations {
  constructor(
    private readonly executor: Executor,
    private readonly cache: ResponseCache,
    private readonly singleFlight: SingleFlight,
    private readonly accessLog: AccessLog,
    private readonly staleness: Staleness,
  ) {}

  async execute(request: PipelineRequest): Promise<PipelineResponse> {
    const { context, validated, responseType: type } = request;
    if (context === null || validated === null || type === null) throw new Error('Earlier steps are missing');
    const executed = await this.run(validated, request, context);
    const body = JSON.stringify(executed.result);
    const headers = { ...validated.deprecated?.headers, 'cache-control': 'no-store' };
    const unavailability = unavailabilityOf(executed.result.errors ?? []);
    if (unavailability !== null) {
      const { status, headers: more } = unavailability;
      return { status, type, headers: { ...headers, ...more }, body };
    }
    return { status: 200, type, headers, body: this.store(body, headers, executed, validated, request) };
  }

  private async run(
    validated: ValidatedOperation,
    request: PipelineRequest,
    context: RequestContext,
  ): Promise<Executed> {
    const { cacheKey } = request;
    const { cacheDependencies } = validated;
    const minute = minuteOf(new Date());
    const before = this.staleness.asOf;
    const flight =
      cacheKey === null || cacheDependencies === null
        ? null
        : this.cache.flightKeyOf(cacheKey, cacheDependencies, minute);
    const { result, isOwn } = await this.runOrJoin(flight, validated, context);
    const [revision = null, ...others] = result.revisions;
    request.mirrorRead = revision === null ? null : await this.staleness.describe(revision, before);
    const { data = null, errors } = result.executed;
    const personalData =
      validated.personalData === null ? null : personalDataAccessOf(validated.personalData, data);
    if (personalData !== null && context.principal !== null)
      this.accessLog.note(context.principal, personalData);
    return {
      result: resultOf(data, errors, validated, request.id),
      personalData,
      revision,
      isCacheable: isOwn && errors === undefined && others.length === 0,
      isPersonal: result.isPersonal,
      minute,
    };
  }

  /** Executes the operation, or takes the result of the same operation that is under way. */
  private async runOrJoin(flight: FlightKey | null, validated: ValidatedOperation, context: RequestContext) {
    const work = async () => {
      const executed = await this.executor.execute(validated, context);
      const { revisions, isPersonal } = context;
      return { executed, revisions, isPersonal };
    };
    const shared = await this.singleFlight.run(flight, work);
    // If the revision has begun to hide something, the result of another viewer is not for this one.
    const isForOther = !shared.isOwn && shared.result.isPersonal && flight?.isOfViewer !== true;
    return isForOther ? { result: await work(), isOwn: true } : shared;
  }

  /** Caches the response if all of it is of one revision and its URLs are of one minute. Returns its body. */
  private store(
    text: string,
    headers: Readonly<Record<string, string>>,
    { isCacheable, isPersonal, minute: begun, personalData, revision }: Executed,
    { cacheDependencies: declared, cost }: ValidatedOperation,
    { cacheKey, responseType, operation }: PipelineRequest,
  ): string | Buffer {
    if (!isCacheable || cacheKey === null || declared === null) return text;
    const cacheDependencies = isPersonal ? withSubject(declared) : declared;
    const minute = cacheDependencies.has('minute') ? begun : null;
    if (minute !== null && minute !== minuteOf(new Date())) return text;
    if (!this.cache.admits(cacheKey, cacheDependencies)) return text;
    const body = Buffer.from(text);
    const contentType = responseType ?? '';
    const response = { body, contentType, headers, cost, minute, personalData, operation, revision };
    this.cache.store(cacheKey, response, cacheDependencies);
    return body;
  }
}

/** The result for the client, with errors first (GraphQL October 2021, §7.1). */
function resultOf(
  data: ExecutionResult['data'],
  errors: ExecutionResult['errors'],
  { deprecated }: ValidatedOperation,
  requestId: string,
): FormattedExecutionResult {
  const formatted = errors?.map((error) => formatError(error.toJSON(), error, requestId));
  return {
    ...(formatted === undefined ? null : { errors: formatted }),
    data: data ?? null,
    ...(deprecated === null ? null : { extensions: { deprecations: deprecated.uses } }),
  };
}
