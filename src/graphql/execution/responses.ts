import { Injectable } from '@nestjs/common';
import { type FormattedExecutionResult, type ExecutionResult } from 'graphql';
import { AccessLog } from '../../access-log/access-log.js';
import type { PersonalDataAccess } from '../../access-log/personal-data.decorator.js';
import { Staleness, type MirrorRead } from '../../database/staleness.js';
import { Executor, type ValidatedOperation } from './operations.js';
import { personalDataAccessOf } from '../analysis/personal-data-selection.js';
import {
  type FlightKey,
  minuteOf,
  ResponseCache,
  SingleFlight,
  withSubject,
  type CachedResponse,
  ResponseCacheKey,
} from '../cache/response-cache.js';
import { formatError, unavailabilityOf } from '../errors/error-response.js';
import type { PipelineRequest, PipelineResponse } from '../http/pipeline-request.js';
import type { RequestContext } from '../http/request-context.js';
import { Revisions } from '../../database/revisions/revisions.js';
import { RateLimiter } from '../rate-limit/rate-limiter.js';

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
export class ExecutedResponses {
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
    const { errors } = executed.result;
    const unavailability = errors === undefined ? null : unavailabilityOf(errors);
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

/** The step that responds from the response cache. The cost stays the same (docs/adr/0017). */
@Injectable()
export class CachedResponses {
  constructor(
    private readonly cache: ResponseCache,
    private readonly limiter: RateLimiter,
    private readonly accessLog: AccessLog,
    private readonly revisions: Revisions,
    private readonly staleness: Staleness,
  ) {}

  respond(request: PipelineRequest): PipelineResponse | undefined | Promise<PipelineResponse> {
    const text = request.bodyText ?? request.url;
    request.cacheKey = new ResponseCacheKey(request.principal, request.responseType ?? '', text);
    const cached = this.cache.find(request.cacheKey);
    if (cached === null) return undefined;
    const { revision } = cached;
    if (revision === null) return this.charge(cached, null, request);
    const asOf = this.revisions.freshness.asOfRevision(revision);
    return asOf === null || request.maxStaleness !== null
      ? this.respondIfFresh(cached, revision, request)
      : this.charge(cached, { revision, asOf }, request);
  }

  /** Responds when the age of the mirror has to be checked in the database first. */
  private async respondIfFresh(
    cached: CachedResponse,
    revision: string,
    request: PipelineRequest,
  ): Promise<PipelineResponse> {
    await this.staleness.refuse(request.maxStaleness);
    const asOf = await this.revisions.asOfRevision(revision);
    return this.charge(cached, { revision, asOf }, request);
  }

  private charge(
    cached: CachedResponse,
    read: MirrorRead | null,
    request: PipelineRequest,
  ): PipelineResponse | Promise<PipelineResponse> {
    request.operation = cached.operation;
    const charged = this.limiter.charge(request, cached.cost, false);
    return charged instanceof Promise
      ? charged.then(() => this.write(cached, read, request))
      : this.write(cached, read, request);
  }

  private write(
    { body, contentType, headers, personalData }: CachedResponse,
    read: MirrorRead | null,
    request: PipelineRequest,
  ): PipelineResponse {
    // Set after the charge, because a rejection contains nothing of the mirror.
    request.mirrorRead = read;
    if (personalData !== null && request.principal !== null)
      this.accessLog.note(request.principal, personalData);
    return { status: 200, type: contentType, headers, body };
  }
}
