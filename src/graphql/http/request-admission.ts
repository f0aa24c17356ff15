import type { IncomingMessage } from 'node:http';
import { Injectable, Logger } from '@nestjs/common';
import { UnauthenticatedError } from '../../auth/authentication.error.js';
import type { Principal } from '../../auth/principal.js';
import { OAuthGuard } from '../../auth/oauth.guard.js';
import { toRejection } from '../../http/rejection.js';
import {
  GRAPHQL_REJECTIONS,
  OVERLOADED_HEADERS,
  rejectionType,
  writeOverloaded,
} from '../errors/error-response.js';
import { headersOfRead } from '../../database/staleness.js';
import { LoadShedder } from '../rate-limit/load-shedder.js';
import { rateLimitHeaders, RateLimiter } from '../rate-limit/rate-limiter.js';
import type { PipelineRequest, PipelineResponse } from './pipeline-request.js';

/** The steps that decide whether a request is accepted. */
@Injectable()
export class RequestAdmission {
  private readonly logger = new Logger('GraphQL');

  constructor(
    private readonly shedder: LoadShedder,
    private readonly guard: OAuthGuard,
    private readonly limiter: RateLimiter,
  ) {}

  /** Rejects requests without reading them while most requests are rejected. */
  shedLoad(request: PipelineRequest): PipelineResponse | undefined {
    return this.shedder.rejectsUnread(performance.now()) ? overloaded(request) : undefined;
  }

  /** The principal, if it can be identified and counted synchronously; otherwise null. */
  recall(raw: IncomingMessage): Principal | null {
    return this.limiter.isShared ? null : (this.guard.recall(raw) ?? null);
  }

  /** Identifies the principal. Returns no promise if the token is cached. */
  authenticate(request: PipelineRequest): void | Promise<void> {
    if (request.principal !== null) return;
    const principal = this.guard.recall(request.raw);
    if (principal === undefined) return this.verify(request);
    request.principal = principal;
  }

  countRequest(request: PipelineRequest): void | Promise<void> {
    return this.limiter.countRequest(request);
  }

  /** Rejects an operation that could not be answered in time. */
  beginOperation(request: PipelineRequest): PipelineResponse | undefined {
    if (!this.shedder.begin(performance.now())) return overloaded(request);
    request.isUnderWay = true;
    return undefined;
  }

  endOperation(request: PipelineRequest): void {
    if (request.isUnderWay) this.shedder.end();
    request.isUnderWay = false;
  }

  /**
   * Counts a request that was not counted yet; undefined if it was. Resolves to the rejection, or to null.
   */
  settle(request: PipelineRequest): Promise<PipelineResponse | null> | undefined {
    if (this.limiter.isSettled(request)) return undefined;
    return this.limiter.settle(request).then(
      () => null,
      (error: unknown) => this.reject(error, request),
    );
  }

  /** The headers that every response has, rejections included. */
  headersOf({ rateLimits, mirrorRead }: PipelineRequest): (Record<string, string> | null)[] {
    return [
      rateLimits === null ? null : rateLimitHeaders(rateLimits),
      mirrorRead === null ? null : headersOfRead(mirrorRead),
    ];
  }

  reject(error: unknown, { id, raw, responseType }: PipelineRequest): PipelineResponse {
    const rejection = toRejection(error);
    const { status } = rejection;
    if (status === 500)
      this.logger.error(`Request ${id} failed: ${error instanceof Error ? error.stack : ''}`);
    const { body } = GRAPHQL_REJECTIONS.write(rejection, id, null);
    const headers = { ...rejection.headers, 'cache-control': 'no-store' };
    return { status, type: responseType ?? rejectionType(raw), headers, body };
  }

  private async verify(request: PipelineRequest): Promise<void> {
    try {
      request.principal = await this.guard.authenticate(request.raw, request.ip);
    } catch (error) {
      // Requests with invalid tokens count against their address.
      if (error instanceof UnauthenticatedError) await this.limiter.countRequest(request);
      throw error;
    }
  }
}

function overloaded({ id, raw, responseType }: PipelineRequest): PipelineResponse {
  const type = responseType ?? rejectionType(raw);
  return { status: 503, type, headers: OVERLOADED_HEADERS, body: writeOverloaded(id) };
}
