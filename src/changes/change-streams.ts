import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { All, Controller, Inject, type OnModuleInit, Req, Res, UseGuards } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { z } from 'zod';
import { RequireScopes, viewerOf } from '../auth/access.js';
import { UnauthenticatedError } from '../auth/authentication.error.js';
import type { Principal } from '../auth/principal.js';
import { CHANGE_KINDS } from '../common/change-kind.js';
import { BadUserInputError, bounded, ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { RateLimiter, rateLimitHeaders, type RateLimitState } from '../graphql/rate-limit/rate-limiter.js';
import { HttpAdapter } from '../http/http-adapter.js';
import { ReadOnlyGuard, RejectionError } from '../http/rejection.js';
import { ChangeFeed } from './change-feed.js';
import { ChangeLog, isChangeCursor, isLost } from './change-log.js';

const EVENT_STREAM = 'text/event-stream';
/** `no-transform`, and the header that nginx knows, keep proxies from collecting events. */
const HEADERS = {
  'content-type': EVENT_STREAM,
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

/** Opens streams of changes as server-sent events (docs/clients.md), and bounds their number. Opening one counts as a request. */
@RequireScopes('directory')
@Controller()
@UseGuards(ReadOnlyGuard)
export class ChangeStreamsController implements OnModuleInit {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly log: ChangeLog,
    private readonly feed: ChangeFeed,
    private readonly limiter: RateLimiter,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  onModuleInit(): void {
    const adapter = this.adapterHost.httpAdapter as unknown;
    if (!(adapter instanceof HttpAdapter)) return;
    adapter.drained.signal.addEventListener('abort', () => {
      this.feed.endAll();
    });
  }

  /** Answers a request with a stream, which lasts until the client or the service ends it. Throws before that. */
  @All('changes/v1')
  async answer(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { principal, ip, method, query, headers, raw } = request;
    const { raw: response } = reply;
    if (principal === null) throw UnauthenticatedError.malformedHeader();
    if (new Negotiator(raw).mediaType([EVENT_STREAM]) === undefined)
      throw new ServiceError('NOT_ACCEPTABLE', `This path sends events: Accept: ${EVENT_STREAM}`);
    // Node.js never reports the end of a response that waits for another one of its connection.
    if (response.socket === null && !response.destroyed)
      throw new ServiceError('BAD_REQUEST', 'Another request of the connection still waits for a response');
    const rateLimits: RateLimitState[] = [];
    await this.admit(principal, ip, rateLimits, response);
    const { after, kinds, group } = readParameters(query, headers['last-event-id']);
    const viewer = viewerOf(principal, this.config.directory.visibility.bypass);
    const filter = { kinds, groupKey: group === null ? null : await this.log.findGroup(group, viewer) };
    const position = after ?? (await this.log.readEnd(viewer));
    const first = await this.feed.read(position, filter, viewer).catch((error: unknown) => {
      // A malformed cursor is a mistake of the client.
      const isGone = isLost(error) && isChangeCursor(position);
      throw isGone ? new RejectionError(410, error.code, error.message) : error;
    });
    void reply.headers({ ...HEADERS, ...rateLimitHeaders(rateLimits) });
    if (method === 'HEAD' || response.destroyed) {
      void reply.send();
      return;
    }
    reply.hijack();
    response.writeHead(200, reply.getHeaders() as Record<string, string>);
    const asked = { principal, viewer, filter, request: raw, address: ip };
    // Fails if the client goes, or if its cursor is lost.
    pipeline(Readable.from(this.feed.follow(asked, position, first)), response).catch(() => undefined);
  }

  /**
   * Takes a place until the response is closed, also if it is no stream.
   * @throws ServiceError RATE_LIMITED, SERVICE_UNAVAILABLE
   */
  private async admit(
    principal: Principal,
    ip: string,
    rateLimits: RateLimitState[],
    response: ServerResponse,
  ): Promise<void> {
    await this.limiter.countRequest({ principal, ip, rateLimits });
    if (response.destroyed) return;
    const { streams, streamsPerPrincipal } = this.config.limits;
    const { places } = this.feed;
    const place = { countedAs: principal.countedAs };
    const own = [...places].filter(({ countedAs }) => countedAs === place.countedAs);
    if (own.length >= streamsPerPrincipal)
      throw this.reject('RATE_LIMITED', `Too many streams: a principal can have ${streamsPerPrincipal}`);
    if (places.size >= streams)
      throw this.reject('SERVICE_UNAVAILABLE', 'Too many streams are open at the moment');
    places.add(place);
    response.once('close', () => {
      places.delete(place);
    });
  }

  private reject(code: 'RATE_LIMITED' | 'SERVICE_UNAVAILABLE', message: string): ServiceError {
    this.feed.rejected++;
    return new ServiceError(code, message, { retryAfter: 15 });
  }
}

/** The parameters in the URL. Several kinds are separated by commas. */
const PARAMETERS = z
  .strictObject({
    after: z.string(),
    kinds: z
      .string()
      .transform((list) => list.split(','))
      .pipe(z.array(z.enum(CHANGE_KINDS))),
    group: z.string(),
    groupNodeId: z.string(),
  })
  .partial();

/**
 * Reads the parameters and the header Last-Event-ID, with which a client resumes and which therefore precedes `after`.
 * @throws BadUserInputError
 */
function readParameters(query: unknown, lastEventId: string | string[] | undefined) {
  const { data, error } = PARAMETERS.safeParse(query);
  if (error) {
    const [{ path, message } = { path: [], message: '' }] = error.issues;
    throw new BadUserInputError(
      bounded([...path, message].map(String).join(': ')),
      String(path[0] ?? 'query'),
    );
  }
  const after = typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId : (data.after ?? null);
  const { kinds = null, group: id = null, groupNodeId: nodeId = null } = data;
  // Without `after`, a stream begins now.
  return { after, kinds, group: id === null && nodeId === null ? null : { id, nodeId } };
}
