import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { viewerOf } from '../../auth/access.js';
import { UnauthenticatedError } from '../../auth/authentication.error.js';
import type { Principal } from '../../auth/principal.js';
import { ServiceError, ServiceUnavailableError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { rateLimitHeaders, type RateLimitState } from '../../graphql/rate-limit/rate-limiter.js';
import { HttpAdapter } from '../../http/http-adapter.js';
import { RejectionError } from '../../http/rejection.js';
import { ChangeLog, type LogPart, type LogPosition } from '../change-log.js';
import { ChangeFeed, PART_SIZE } from './change-feed.js';
import { ChangeStream, type StreamRequest } from './change-stream.js';
import { StreamAdmission } from './stream-admission.js';
import { EVENT_STREAM, readStreamRequest, refuseOtherTypes } from './stream-request.js';

/** `no-transform`, and the header that nginx knows, keep proxies from collecting events. */
const HEADERS = {
  'content-type': EVENT_STREAM,
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

const PIPELINED = new RejectionError(
  400,
  'BAD_USER_INPUT',
  'A stream needs a connection without other requests that wait for a response',
);

/** Where a stream begins. */
interface Beginning {
  readonly asked: StreamRequest;
  readonly position: LogPosition;
  /** The first part if the stream resumes. */
  readonly part: LogPart | null;
}

/** Streams of changes as server-sent events (docs/clients.md). */
@Injectable()
export class ChangeStreamsService implements OnModuleInit {
  private isEnding = false;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly log: ChangeLog,
    private readonly feed: ChangeFeed,
    private readonly admission: StreamAdmission,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  onModuleInit(): void {
    const adapter = this.adapterHost.httpAdapter as unknown;
    if (!(adapter instanceof HttpAdapter)) return;
    adapter.drained.signal.addEventListener('abort', () => {
      this.isEnding = true;
      this.feed.endAll();
    });
  }

  /** Answers a request with a stream, which lasts until the client or the service ends it. Throws before that. */
  async open(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { principal, ip, method } = request;
    if (principal === null) throw UnauthenticatedError.malformedHeader();
    refuseOtherTypes(request.raw);
    const rateLimits: RateLimitState[] = [];
    const release = await this.admission.admit(principal, ip, rateLimits);
    try {
      const beginning = await this.begin(request, principal);
      if (this.isEnding) throw new ServiceUnavailableError('The service is ending');
      // Node.js never reports the end of a response that waits for another one of its connection.
      if (reply.raw.socket === null && !reply.raw.destroyed) throw PIPELINED;
      void reply.headers({ ...HEADERS, ...rateLimitHeaders(rateLimits) });
      if (method !== 'HEAD' && !reply.raw.destroyed) {
        this.start(reply, beginning, release);
        return;
      }
    } catch (error) {
      release();
      throw error;
    }
    release();
    void reply.send();
  }

  private async begin({ raw, query, headers, ip }: FastifyRequest, principal: Principal): Promise<Beginning> {
    const { after, kinds, group } = readStreamRequest(query, headers['last-event-id']);
    const viewer = viewerOf(principal, this.config.directory.visibility.bypass);
    const groupKey = group === null ? null : await this.log.findGroup(group, viewer);
    const filter = { kinds, groupKey };
    const asked = { principal, viewer, filter, request: raw, address: ip };
    if (after === null) return { asked, position: await this.log.readEnd(viewer), part: null };
    const part = await this.log.readAfter(after, PART_SIZE, filter, viewer).catch(rejectLost);
    return { asked, position: { number: 0, cursor: after, completeAt: null }, part };
  }

  private start(reply: FastifyReply, { asked, position, part }: Beginning, release: () => void): void {
    const { raw: response } = reply.hijack();
    response.writeHead(200, reply.getHeaders() as Record<string, string>);
    const stream = new ChangeStream(asked, position, response);
    response.once('close', () => {
      this.feed.remove(stream);
      release();
    });
    void this.feed.follow(stream, part);
  }
}

/** A cursor that was valid in another database, or is too old, is gone for good. */
function rejectLost(error: unknown): never {
  const isLost =
    error instanceof ServiceError && ['INVALID_CURSOR', 'CHANGE_CURSOR_EXPIRED'].includes(error.code);
  throw isLost ? new RejectionError(410, error.code, error.message) : error;
}
