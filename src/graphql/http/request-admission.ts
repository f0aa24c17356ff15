import { Injectable, Logger } from '@nestjs/common';
import { UnauthenticatedError } from '../../auth/authentication.error.js';
import { OAuthGuard } from '../../auth/oauth.guard.js';
import { toRejection } from '../../http/rejection.js';
import {
  GRAPHQL_REJECTIONS,
  OVERLOADED_HEADERS,
  rejectionType,
  writeOverloaded,
} from '../errors/error-response.js';
import { headersOfRead } from '../../database/staleness.js';
import { rateLimitHeaders, RateLimiter } from '../rate-limit/rate-limiter.js';
import type { PipelineRequest, PipelineResponse } from './pipeline-request.js';

/** The interval of measurements. */
const INTERVAL_MS = 100;
/** An operation is rejected if it would wait longer. A client should rather retry after this time. */
const MAX_WAIT_MS = 500;
/** With at least this many operations in progress, the process works at full speed. */
const BUSY_OPERATIONS = 16;
/** This many operations are always accepted, because so few never wait long. */
const MIN_OPERATIONS = 64;
/** The limit while the speed is not known. */
const MAX_OPERATIONS = 1000;
/** Above this number of rejections per answered operation, rejected requests are not read. */
const OVERLOAD_RATIO = 3;
/** Up to this number of rejections in an interval, reading rejected requests costs almost nothing. */
const FEW_REJECTIONS = 50;

/** The state that the load shedder reports to metrics. */
interface LoadState {
  readonly underWay: number;
  /** The maximum number of operations in progress. */
  readonly limit: number;
  /** Number of rejections since the start. */
  readonly rejected: number;
}

/**
 * Accepts as many operations as can be answered in time (docs/adr/0023). While the process is busy, the
 * number of operations answered in an interval determines the limit, by Little's law.
 */
@Injectable()
export class LoadShedder {
  private underWay = 0;
  private limit = MAX_OPERATIONS;
  /** Milliseconds on a monotonic clock. */
  private intervalBegan = 0;
  private answeredWithin = 0;
  private fewestWithin = 0;
  private rejectedWithin = 0;
  private rejected = 0;
  /** Whether most requests of the last interval were rejected. */
  isOverloaded = false;

  /** Accepts an operation if it can be answered in time. The caller must then call `end`. */
  begin(now: number): boolean {
    this.measure(now);
    if (this.underWay >= this.limit) {
      this.reject();
      return false;
    }
    this.underWay++;
    return true;
  }

  /** Whether to reject a request unread: the limit is reached, and most requests are rejected. */
  rejectsUnread(now: number): boolean {
    this.measure(now);
    if (!this.isOverloaded || this.underWay < this.limit) return false;
    this.reject();
    return true;
  }

  end(): void {
    this.underWay--;
    this.answeredWithin++;
    this.fewestWithin = Math.min(this.fewestWithin, this.underWay);
  }

  get state(): LoadState {
    const { underWay, limit, rejected } = this;
    return { underWay, limit, rejected };
  }

  private reject(): void {
    this.rejected++;
    this.rejectedWithin++;
  }

  private measure(now: number): void {
    const elapsed = now - this.intervalBegan;
    if (elapsed < INTERVAL_MS) return;
    const wasBusy = this.fewestWithin >= BUSY_OPERATIONS;
    this.limit = wasBusy
      ? Math.max(MIN_OPERATIONS, (this.answeredWithin / elapsed) * MAX_WAIT_MS)
      : MAX_OPERATIONS;
    this.isOverloaded = this.rejectedWithin > Math.max(FEW_REJECTIONS, OVERLOAD_RATIO * this.answeredWithin);
    this.intervalBegan = now;
    this.answeredWithin = 0;
    this.rejectedWithin = 0;
    this.fewestWithin = this.underWay;
  }
}

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

  /** Identifies the principal. Returns no promise if the token is cached. */
  authenticate(request: PipelineRequest): void | Promise<void> {
    const principal = this.guard.findCachedPrincipal(request.raw);
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
