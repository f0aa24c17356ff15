import { Injectable } from '@nestjs/common';
import { AccessLog } from '../../access-log/access-log.js';
import { Revisions } from '../../database/revisions/revisions.js';
import { type MirrorRead, Staleness } from '../../database/staleness.js';
import type { PipelineRequest, PipelineResponse } from '../http/pipeline-request.js';
import { RateLimiter } from '../rate-limit/rate-limiter.js';
import { type CachedResponse, ResponseCache, ResponseCacheKey } from './response-cache.js';

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
