import { Injectable } from '@nestjs/common';
import {
  type ExecutionResult,
  type FormattedExecutionResult,
  GraphQLError,
  type GraphQLFormattedError,
} from 'graphql';
import { AccessLog } from '../../access-log/access-log.js';
import type { ReadDependencies } from '../../database/statements/dependencies.js';
import { Staleness } from '../../database/staleness.js';
import { Executor } from './operations.js';
import type { ValidatedOperation } from './validated-operation.js';
import { insufficientScope, type Withheld } from '../analysis/operation-policy.js';
import { personalDataAccessOf } from '../analysis/personal-data-selection.js';
import { nameOf, ResponseCache, withSubject } from '../cache/response-cache.js';
import type { CachedResponse, FlightKey } from '../cache/cached-response.js';
import type { CacheDependency } from '../cache/cache-policy.decorator.js';
import { periodOfUrls, type SignedUser } from '../cache/url-renewal.js';
import { coversAny } from '../../http/entity-tags.js';
import { ConditionalResponses } from './conditional-responses.js';
import { countError, formatError, unavailabilityOf } from '../errors/error-response.js';
import { compressed } from '../http/compression.js';
import type { PipelineRequest, PipelineResponse } from '../http/pipeline-request.js';
import type { RequestContext } from '../http/request-context.js';

interface Executed extends Pick<CachedResponse, 'personalData' | 'revision'> {
  readonly result: FormattedExecutionResult;
  readonly reads: ReadDependencies;
  readonly signedUsers: readonly SignedUser[];
  /** Whether this request has executed it. */
  readonly isOwn: boolean;
  /** Whether it has no errors and is of one revision. */
  readonly isComplete: boolean;
  /** Whether another viewer with the same scopes may get another result. */
  readonly isPersonal: boolean;
  /** The period in which the execution began. */
  readonly period: number;
}

/** For how long equal requests have the same response. */
interface Validity extends Pick<CachedResponse, 'name' | 'period'> {
  readonly dependencies: ReadonlySet<CacheDependency>;
}

interface Flight {
  readonly stamp: string;
  /** Null after the execution has ended. */
  result: Promise<unknown> | null;
}

/** Coalesces requests: those that arrive during an identical execution wait for its result. */
class SingleFlight {
  private readonly underWay = new Map<string, Flight>();

  /** Runs `work`, or waits for the result of the same flight. Null: no other request may share it. */
  async run<Result>(
    flight: FlightKey | null,
    work: () => Promise<Result>,
  ): Promise<{ result: Result; isOwn: boolean }> {
    if (flight === null) return { result: await work(), isOwn: true };
    const { key, stamp } = flight;
    const known = this.underWay.get(key) as (Flight & { result: Promise<Result> | null }) | undefined;
    if (known !== undefined && known.stamp === stamp && known.result !== null) {
      return { result: await known.result, isOwn: false };
    }
    const result = work();
    const own: Flight = { stamp, result };
    this.underWay.set(key, own);
    try {
      return { result: await result, isOwn: true };
    } finally {
      // V8 keeps the old table of a map that has grown, with everything in it, until the next full garbage
      // collection.
      own.result = null;
      if (this.underWay.get(key) === own) this.underWay.delete(key);
    }
  }
}

/** The steps that execute a validated operation, write the response and cache it. */
@Injectable()
export class ExecutedResponses {
  private readonly singleFlight = new SingleFlight();

  constructor(
    private readonly executor: Executor,
    private readonly cache: ResponseCache,
    private readonly accessLog: AccessLog,
    private readonly staleness: Staleness,
    private readonly conditional: ConditionalResponses,
  ) {}

  /** Responds with 304 if the client has the response. Those of POST have no entity tags (RFC 9110 §9.3.3). */
  respondUnchanged(request: PipelineRequest): undefined | Promise<PipelineResponse | undefined> {
    const known = request.headers['if-none-match'];
    // Only the execution shows whether there is a response for any tag, and what its tag is.
    const isConditional = request.method !== 'POST' && known !== undefined && !coversAny(known);
    return isConditional ? this.conditional.respond(request) : undefined;
  }

  async execute(request: PipelineRequest): Promise<PipelineResponse> {
    const { context, validated, responseType: type } = request;
    if (context === null || validated === null || type === null) throw new Error('Earlier steps are missing');
    const executed = await this.run(validated, request, context);
    const body = JSON.stringify(executed.result);
    const headers = { ...validated.deprecated?.headers, 'cache-control': 'no-store' };
    const { errors } = executed.result;
    const unavailability = errors === undefined ? null : unavailabilityOf(errors);
    if (unavailability !== null) {
      const { status, headers: more } = unavailability;
      this.note(executed, context);
      return { status, type, headers: { ...headers, ...more }, body };
    }
    const response = this.write(body, headers, executed, validated, request);
    // A response without a body discloses no personal data.
    if (response.status === 200 && request.method !== 'HEAD') this.note(executed, context);
    const { compression } = request;
    return compression === null ? response : compressed(response, compression);
  }

  private note({ personalData }: Executed, { principal }: RequestContext): void {
    if (personalData !== null && principal !== null) this.accessLog.note(principal, personalData);
  }

  private write(
    body: string,
    headers: Readonly<Record<string, string>>,
    executed: Executed,
    validated: ValidatedOperation,
    request: PipelineRequest,
  ): PipelineResponse {
    const type = request.responseType ?? '';
    const validity = validityOf(executed, validated, request);
    if (validity === null) return { status: 200, type, headers, body };
    const kept = executed.isOwn ? this.store(body, headers, executed, validity, request) : body;
    const response = { status: 200, type, headers, body: kept };
    const { revision } = executed;
    return revision === null || request.method === 'POST'
      ? response
      : this.conditional.tag(request, response, { ...validity, revisions: [revision] });
  }

  private async run(
    validated: ValidatedOperation,
    request: PipelineRequest,
    context: RequestContext,
  ): Promise<Executed> {
    const { cacheKey } = request;
    const { cacheDependencies } = validated;
    const period = periodOfUrls(new Date());
    const before = this.staleness.asOf;
    const flight =
      cacheKey === null || cacheDependencies === null
        ? null
        : this.cache.flightKeyOf(cacheKey, cacheDependencies, period);
    const { result, isOwn } = await this.runOrJoin(flight, validated, context);
    const [revision = null, ...others] = result.revisions;
    request.mirrorRead = revision === null ? null : await this.staleness.describe(revision, before);
    const { data = null, errors } = result.executed;
    const personalData =
      validated.personalData === null ? null : personalDataAccessOf(validated.personalData, data);
    return {
      result: resultOf(data, errors, validated, context),
      personalData,
      revision,
      reads: result.reads,
      signedUsers: result.signedUsers,
      isOwn,
      isComplete: errors === undefined && others.length === 0,
      isPersonal: result.isPersonal,
      period,
    };
  }

  /** Executes the operation, or takes the result of the same operation that is under way. */
  private async runOrJoin(flight: FlightKey | null, validated: ValidatedOperation, context: RequestContext) {
    const work = async () => {
      const executed = await this.executor.execute(validated, context);
      const { revisions, isPersonal, dependencies: reads, signedUsers } = context;
      return { executed, revisions, isPersonal, reads, signedUsers };
    };
    const shared = await this.singleFlight.run(flight, work);
    // If the revision has begun to hide something, the result of another viewer is not for this one.
    const isForOther = !shared.isOwn && shared.result.isPersonal && flight?.isOfViewer !== true;
    return isForOther ? { result: await work(), isOwn: true } : shared;
  }

  /** Caches the response, if it is worth it. Returns its body. */
  private store(
    text: string,
    headers: Readonly<Record<string, string>>,
    { personalData, revision, reads, signedUsers }: Executed,
    { name, period, dependencies }: Validity,
    { responseType, operation, validated }: PipelineRequest,
  ): string | Buffer {
    if (validated === null || !this.cache.admits(name)) return text;
    const body = Buffer.from(text);
    const places = this.cache.placesOf(body, period, signedUsers);
    const { cost } = validated;
    const contentType = responseType ?? '';
    const parts = {
      name,
      body,
      contentType,
      headers,
      cost,
      period,
      places,
      personalData,
      operation,
      revision,
    };
    this.cache.store({ ...parts, compressed: {}, reads: reads.collect() }, dependencies);
    return body;
  }
}

/** Null if an equal request may get another response, or if it has errors, several revisions, or URLs of two periods. */
function validityOf(
  executed: Pick<Executed, 'isComplete' | 'isPersonal' | 'period'>,
  { cacheDependencies: declared }: Pick<ValidatedOperation, 'cacheDependencies'>,
  { cacheKey }: PipelineRequest,
): Validity | null {
  if (!executed.isComplete || cacheKey === null || declared === null) return null;
  const dependencies = executed.isPersonal ? withSubject(declared) : declared;
  const period = dependencies.has('period') ? executed.period : null;
  if (period !== null && period !== periodOfUrls(new Date())) return null;
  return { name: nameOf(cacheKey, dependencies), dependencies, period };
}

/** The result for the client, with errors first (GraphQL October 2021, §7.1). */
function resultOf(
  data: ExecutionResult['data'],
  errors: ExecutionResult['errors'],
  { deprecated, withheld }: ValidatedOperation,
  context: RequestContext,
): FormattedExecutionResult {
  const failed = errors?.map((error) => formatError(error.toJSON(), error, context.requestId)) ?? [];
  const without = data ? withheld.flatMap((each) => [...withheldErrors(each, context)]) : [];
  const formatted = [...failed, ...without];
  return {
    ...(formatted.length === 0 ? null : { errors: formatted }),
    data: data ?? null,
    ...(deprecated === null ? null : { extensions: { deprecations: deprecated.uses } }),
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
