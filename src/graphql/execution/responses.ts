import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  type ExecutionResult,
  type FormattedExecutionResult,
  GraphQLError,
  type GraphQLFormattedError,
} from 'graphql';
import { AccessLog } from '../../access-log/access-log.js';
import { readBuild } from '../../config/build.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Revisions } from '../../database/revisions/revisions.js';
import { type MirrorRead, Staleness } from '../../database/staleness.js';
import { seesEverything } from '../../database/visibility/viewer.js';
import { coversAny, matchesEtag } from '../../http/entity-tags.js';
import { Executor } from './operations.js';
import type { ValidatedOperation } from '../http/pipeline-request.js';
import { insufficientScope, type Withheld } from '../analysis/operation-policy.js';
import { personalDataAccessOf } from '../analysis/personal-data-selection.js';
import { periodOfUrls } from '../cache/cache-policy.decorator.js';
import { type CachedResponse, ResponseCache, ResponseCacheKey } from '../cache/response-cache.js';
import { countError, formatError, unavailabilityOf } from '../errors/error-response.js';
import { type Coding, compressed } from '../http/compression.js';
import type { PipelineRequest, PipelineResponse } from '../http/pipeline-request.js';
import type { RequestContext } from '../http/request-context.js';
import { RateLimiter } from '../rate-limit/rate-limiter.js';

type Outcome = PipelineResponse | undefined;

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

/** Everything that determines a response: equal values have equal responses. */
type Representation = Pick<CachedResponse, 'name' | 'period'> & { readonly revision: string };

/** Characters of an entity tag, of six bits each. */
const TAG_LENGTH = 22;
/** For caches of one client only, which ask before each use. A shared cache that ignores it must distinguish callers. */
const REVALIDATED = {
  'cache-control': 'private, no-cache',
  vary: 'Accept, Accept-Encoding, Authorization, Origin',
};

/**
 * Conditional requests by GET (RFC 9110 §13.1.2, docs/adr/0048). An entity tag names a revision, the audience and the request, so
 * it can be compared before the operation is executed.
 */
@Injectable()
export class ConditionalResponses {
  /** The hash of what else decides about responses: the release, and the settings of URLs, fields and documents. */
  private readonly service: string;

  constructor(
    @Inject(CONFIG) { baseUrl, model, directory, trustedDocuments }: Config,
    private readonly revisions: Revisions,
    private readonly staleness: Staleness,
  ) {
    const { version, commit } = readBuild();
    // The name of a request by documentId has the id of the document, and not its text.
    const documents = [...(trustedDocuments?.documents ?? [])];
    const parts = [version, commit, baseUrl, directory.server, model, documents];
    this.service = hash('sha256', JSON.stringify(parts));
  }

  /**
   * The response with its entity tag, or 304 if the client has it. Those of POST have none (RFC 9110 §9.3.3), and those that
   * contain nothing of the mirror: their revision is null.
   */
  tag(
    request: PipelineRequest,
    response: PipelineResponse,
    { name, period, revision }: Pick<CachedResponse, 'name' | 'period' | 'revision'>,
  ): PipelineResponse {
    if (revision === null || request.method === 'POST') return response;
    const representation = { name, period, revision };
    const headers = { ...response.headers, ...REVALIDATED, etag: `W/${this.tagOf(representation)}` };
    return this.unchanged(request, representation) ?? { ...response, headers };
  }

  /** 304 without an execution, if the client has the response; otherwise undefined. The operation was charged before. */
  respond(request: PipelineRequest): undefined | Promise<PipelineResponse> {
    const known = request.headers['if-none-match'];
    // Only the execution shows whether there is a response for any tag, and what its tag is.
    if (request.method === 'POST' || known === undefined || coversAny(known)) return undefined;
    const revision = this.revisions.current?.id;
    if (revision === undefined) return undefined;
    for (const each of this.possible(request)) {
      const unchanged = this.unchanged(request, { ...each, revision });
      if (unchanged !== null) return this.describe(request, revision, unchanged);
    }
    return undefined;
  }

  /** What the response of the current revision can be: only the execution shows whether the subject matters. */
  private possible({
    validated,
    cacheKey,
    context,
  }: PipelineRequest): Pick<CachedResponse, 'name' | 'period'>[] {
    const dependencies = validated?.cacheDependencies ?? null;
    if (dependencies?.has('mirror') !== true || cacheKey === null || context === null) return [];
    const period = dependencies.has('period') ? periodOfUrls(new Date()) : null;
    // If the revision may hide something from the viewer, only the tag with the subject was sent.
    const isOwn = dependencies.has('subject') || (this.revisions.hides && !seesEverything(context.viewer));
    return (isOwn ? [true] : [false, true]).map((each) => ({ name: cacheKey.nameFor(each), period }));
  }

  private unchanged(
    { headers, responseType }: PipelineRequest,
    representation: Representation,
  ): PipelineResponse | null {
    const known = headers['if-none-match'];
    if (known === undefined) return null;
    const tag = this.tagOf(representation);
    if (!matchesEtag(known, tag)) return null;
    return { status: 304, type: responseType ?? '', headers: { ...REVALIDATED, etag: `W/${tag}` }, body: '' };
  }

  private async describe(
    request: PipelineRequest,
    revision: string,
    response: PipelineResponse,
  ): Promise<PipelineResponse> {
    request.mirrorRead = await this.staleness.describe(revision, this.staleness.asOf);
    return response;
  }

  private tagOf({ name, period, revision }: Representation): string {
    const text = `${this.service}\n${revision}\n${period}\n${name}`;
    return `"${hash('sha256', text, 'base64url').slice(0, TAG_LENGTH)}"`;
  }
}

/** The steps that respond from the cache, or execute a validated operation, write the response and cache it. */
@Injectable()
export class Responses {
  constructor(
    private readonly executor: Executor,
    private readonly cache: ResponseCache,
    private readonly limiter: RateLimiter,
    private readonly accessLog: AccessLog,
    private readonly staleness: Staleness,
    private readonly conditional: ConditionalResponses,
  ) {}

  /** Responds from the response cache. The cost stays the same (docs/adr/0017). */
  respondCached(request: PipelineRequest): Outcome | Promise<Outcome> {
    const { principal, method, responseType, bodyText, url } = request;
    // HEAD has the response of GET, from the same entry and with the same entity tag.
    const form = method === 'HEAD' ? 'GET' : method;
    const key = new ResponseCacheKey(principal, form, responseType ?? '', bodyText ?? url);
    request.cacheKey = key;
    // A statement has read a new revision a moment before it was announced. Waiting is cheaper than an execution.
    const { settled } = this.cache.revisions;
    return settled === null ? this.find(key, request) : settled.then(() => this.find(key, request));
  }

  private find(key: ResponseCacheKey, request: PipelineRequest): Outcome | Promise<PipelineResponse> {
    const cached = this.cache.find(key);
    if (cached === null) return undefined;
    const { revision } = cached;
    if (revision === null) return this.charge(cached, null, request);
    const asOf = this.cache.revisions.knownAsOf(revision);
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
    const asOf = await this.cache.revisions.asOfRevision(revision);
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
      ? charged.then(() => this.writeCached(cached, read, request))
      : this.writeCached(cached, read, request);
  }

  private writeCached(
    cached: CachedResponse,
    read: MirrorRead | null,
    request: PipelineRequest,
  ): PipelineResponse | Promise<PipelineResponse> {
    // Set after the charge, because a rejection contains nothing of the mirror.
    request.mirrorRead = read;
    const { body, contentType: type, headers } = cached;
    const response = this.conditional.tag(request, { status: 200, type, headers, body }, cached);
    const keep = (coding: Coding, bytes: Buffer) => {
      this.cache.keepCompressed(cached, coding, bytes);
    };
    return this.send(response, cached, request, { known: cached.compressed, keep });
  }

  /** Responds with 304 if the client has the response. */
  respondUnchanged(request: PipelineRequest): undefined | Promise<PipelineResponse> {
    return this.conditional.respond(request);
  }

  async execute(request: PipelineRequest): Promise<PipelineResponse> {
    const { context, validated, responseType: type } = request;
    if (context === null || validated === null || type === null) throw new Error('Earlier steps are missing');
    const executed = await this.run(validated, request, context);
    const body = JSON.stringify(executed.result);
    const headers = { 'cache-control': 'no-store' };
    const { errors } = executed.result;
    const unavailability = errors === undefined ? null : unavailabilityOf(errors);
    if (unavailability !== null) {
      const { status, headers: more } = unavailability;
      this.note(executed, request);
      return { status, type, headers: { ...headers, ...more }, body };
    }
    return this.send(this.write(body, headers, executed, request), executed, request);
  }

  private async run(
    validated: ValidatedOperation,
    request: PipelineRequest,
    context: RequestContext,
  ): Promise<Executed> {
    const period = periodOfUrls(new Date());
    const before = this.staleness.asOf;
    const work = async () => {
      const executed = await this.executor.execute(validated, context);
      const { revisions, isPersonal } = context;
      return { executed, revisions, isPersonal };
    };
    const { cacheDependencies } = validated;
    const { result, isOwn } = await this.cache.share(request.cacheKey, cacheDependencies, work);
    const [revision = null, ...others] = result.revisions;
    request.mirrorRead = revision === null ? null : await this.staleness.describe(revision, before);
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

  /** The response, which is cached if an equal request gets the same. */
  private write(
    text: string,
    headers: Readonly<Record<string, string>>,
    { isComplete, isPersonal, isOwn, personalData, revision, period: began }: Executed,
    request: PipelineRequest,
  ): PipelineResponse {
    const { cacheKey, validated, operation } = request;
    const contentType = request.responseType ?? '';
    const plain = { status: 200, type: contentType, headers, body: text };
    const dependencies = validated?.cacheDependencies ?? null;
    if (!isComplete || cacheKey === null || validated === null || dependencies === null) return plain;
    const period = dependencies.has('period') ? began : null;
    // It may have URLs of two periods.
    if (period !== null && period !== periodOfUrls(new Date())) return plain;
    const name = cacheKey.nameFor(isPersonal || dependencies.has('subject'));
    let body: string | Buffer = text;
    if (isOwn && (revision !== null || !dependencies.has('mirror'))) {
      body = Buffer.from(text);
      const { cost } = validated;
      const about = { name, contentType, headers, cost, period, personalData, operation, revision };
      this.cache.store({ ...about, body, compressed: {} });
    }
    return this.conditional.tag(request, { ...plain, body }, { name, period, revision });
  }

  private send(
    response: PipelineResponse,
    read: Pick<CachedResponse, 'personalData'>,
    request: PipelineRequest,
    kept?: Parameters<typeof compressed>[2],
  ): PipelineResponse | Promise<PipelineResponse> {
    // A response without a body discloses no personal data.
    if (response.status === 200 && request.method !== 'HEAD') this.note(read, request);
    const { compression } = request;
    return compression === null ? response : compressed(response, compression, kept);
  }

  private note(
    { personalData }: Pick<CachedResponse, 'personalData'>,
    { principal }: Pick<PipelineRequest, 'principal'>,
  ): void {
    if (personalData !== null && principal !== null) this.accessLog.note(principal, personalData);
  }
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
