import { Injectable } from '@nestjs/common';
import { AccessLog } from '../../access-log/access-log.js';
import { type MirrorRead, Staleness } from '../../database/staleness.js';
import type { CachedResponse } from '../cache/cached-response.js';
import { ResponseCache, ResponseCacheKey } from '../cache/response-cache.js';
import { type Coding, compressed } from '../http/compression.js';
import type { PipelineRequest, PipelineResponse } from '../http/pipeline-request.js';
import { RateLimiter } from '../rate-limit/rate-limiter.js';
import { ConditionalResponses } from './conditional-responses.js';

/** The step that responds from the response cache. The cost stays the same (docs/adr/0017). */
@Injectable()
export class CachedResponses {
  constructor(
    private readonly cache: ResponseCache,
    private readonly limiter: RateLimiter,
    private readonly accessLog: AccessLog,
    private readonly staleness: Staleness,
    private readonly conditional: ConditionalResponses,
  ) {}

  respond(request: PipelineRequest): PipelineResponse | undefined | Promise<PipelineResponse | undefined> {
    const { principal, method, responseType, bodyText, url } = request;
    // HEAD has the response of GET, from the same entry and with the same entity tag.
    const form = method === 'HEAD' ? 'GET' : method;
    const key = new ResponseCacheKey(principal, form, responseType ?? '', bodyText ?? url);
    request.cacheKey = key;
    // A statement has read a new revision a moment before it was announced. Waiting is cheaper than an execution.
    const { settled } = this.cache.revisions;
    return settled === null ? this.find(key, request) : settled.then(() => this.find(key, request));
  }

  private find(
    key: ResponseCacheKey,
    request: PipelineRequest,
  ): PipelineResponse | undefined | Promise<PipelineResponse> {
    const cached = this.cache.find(key);
    if (cached === null) return undefined;
    // It is valid for the current revision, even if it was read from an older one.
    const revision = cached.revision === null ? null : (this.cache.revisions.current?.id ?? cached.revision);
    if (revision === null) return this.charge(cached, null, request);
    const asOf = this.cache.revisions.freshness.asOfRevision(revision);
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
      ? charged.then(() => this.write(cached, read, request))
      : this.write(cached, read, request);
  }

  private write(
    cached: CachedResponse,
    read: MirrorRead | null,
    request: PipelineRequest,
  ): PipelineResponse | Promise<PipelineResponse> {
    const { name, body, contentType, headers, personalData, period, revision } = cached;
    // Set after the charge, because a rejection contains nothing of the mirror.
    request.mirrorRead = read;
    const plain = { status: 200, type: contentType, headers, body };
    // The response is the same in all revisions since the one from which it was read.
    const response =
      revision === null || read === null || request.method === 'POST'
        ? plain
        : this.conditional.tag(request, plain, { name, period, revisions: [revision, read.revision] });
    // A response without a body discloses no personal data.
    if (
      response.status === 200 &&
      request.method !== 'HEAD' &&
      personalData !== null &&
      request.principal !== null
    )
      this.accessLog.note(request.principal, personalData);
    const { compression } = request;
    if (compression === null) return response;
    const keep = (coding: Coding, bytes: Buffer) => {
      this.cache.keepCompressed(cached, body, coding, bytes);
    };
    return compressed(response, compression, { known: cached.compressed, keep });
  }
}
