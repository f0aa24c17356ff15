import type { Socket } from 'node:net';
import { Inject, Injectable, Optional } from '@nestjs/common';
import type { Logger } from 'pino';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { HttpAdapter } from '../http/http-adapter.js';
import type { RateLimitState } from '../graphql/rate-limit/rate-limiter.js';
import { GRAPHQL_PATH } from '../graphql/http/request-state.js';
import { createLog } from './log.js';
import { RequestMetrics } from './metrics/request-metrics.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Id of the trace of the request (W3C Trace Context). Undefined: tracing is off. */
    traceId?: string;
  }
}

/** A connection, with the reply that it waits for. */
type WatchedSocket = Socket & { waiting?: FastifyReply | null };

/** The client closed the connection before the response. nginx logs this code too; no client receives it. */
const CLIENT_CLOSED_REQUEST = 499;
/** Label for a path without a route, and for a request without an operation. */
const NONE = 'none';

/**
 * Counts every request and logs a line for it when the whole response has been sent or the connection is
 * closed. The line names the kind of the principal and the operation, without its contents
 * (docs/operations.md).
 */
@Injectable()
export class RequestWatch {
  /** Null if requests are not logged. */
  private readonly lines: Logger | null;

  constructor(
    @Inject(CONFIG) config: Config,
    @Optional() @Inject(RequestMetrics) private readonly metrics: RequestMetrics | null,
  ) {
    const log = createLog(config);
    this.lines = config.monitoring.requestLines && log.isLevelEnabled('info') ? log : null;
  }

  /** Registers the last step of every request on the adapter. It is called once. */
  register(adapter: HttpAdapter): void {
    if (this.lines === null && this.metrics === null) return;
    const fastify = adapter.getInstance<FastifyInstance>();
    fastify.addHook('onRequest', (request, reply, done) => {
      (request.raw.socket as WatchedSocket).waiting = reply;
      done();
    });
    fastify.addHook('onResponse', (request, reply, done) => {
      const socket = request.raw.socket as WatchedSocket;
      // If the response could not be sent, the close event of the connection records the request.
      if (reply.raw.writableFinished) {
        if (socket.waiting === reply) socket.waiting = null;
        this.note(seenOf(request, reply), reply.statusCode);
      }
      done();
    });
    // One listener per connection: a listener per request would cost more than all other steps here.
    fastify.server.on('connection', (socket: WatchedSocket) => {
      socket.once('close', () => {
        const reply = socket.waiting ?? null;
        socket.waiting = null;
        if (reply !== null && !reply.raw.writableFinished)
          this.note(seenOf(reply.request, reply), CLIENT_CLOSED_REQUEST);
      });
    });
    adapter.onUnparsed = ({ id, status }) => {
      this.note({ ...UNREAD, id }, status);
    };
  }

  private note(request: SeenRequest, status: number): void {
    const { operation, rateLimits, statements, route, milliseconds } = request;
    const cost = rateLimits === null ? null : costIn(rateLimits);
    this.metrics?.note({
      route,
      operation: operation?.field ?? NONE,
      status,
      milliseconds,
      principal: rateLimits === null ? null : (request.principal?.kind ?? 'NONE'),
      points: cost ?? 0,
      statements,
    });
    this.lines?.info(lineOf(request, status, cost, this.lines.isLevelEnabled('debug')), 'request');
  }
}

/** A request whose response was sent or whose connection was closed. */
interface SeenRequest extends Pick<
  FastifyRequest,
  'id' | 'method' | 'operation' | 'principal' | 'rateLimits' | 'statements' | 'traceId'
> {
  readonly route: string;
  readonly milliseconds: number;
}

/** Properties of a request whose head could not be parsed. */
const UNREAD: Omit<SeenRequest, 'id'> = {
  method: 'unknown',
  route: NONE,
  operation: null,
  principal: null,
  rateLimits: null,
  statements: 0,
  milliseconds: 0,
};

function seenOf(request: FastifyRequest, { elapsedTime: milliseconds }: FastifyReply): SeenRequest {
  const { id, method, operation, principal, rateLimits, statements, traceId } = request;
  const route = rateLimits === null ? routeOf(request) : GRAPHQL_PATH;
  return { id, method, operation, principal, rateLimits, statements, traceId, route, milliseconds };
}

/** Returns the declared route, because the actual path may contain any value. */
function routeOf(request: FastifyRequest): string {
  return request.is404 ? NONE : (request.routeOptions.url ?? NONE);
}

function costIn(rateLimits: readonly RateLimitState[]): number | null {
  for (const { cost } of rateLimits) if (cost !== null) return cost;
  return null;
}

/** What the line of a request names (docs/operations.md). Pino omits what is undefined. */
function lineOf(request: SeenRequest, status: number, cost: number | null, isDetailed: boolean): object {
  const { id: requestId, method, route, operation: label, principal, rateLimits, statements } = request;
  const operation = rateLimits !== null && {
    operation: label?.name ?? null,
    field: isDetailed ? (label?.field ?? null) : undefined,
    principal: principal?.kind ?? null,
    cost,
    statements: isDetailed ? statements : undefined,
  };
  return {
    requestId,
    method: isDetailed ? method : undefined,
    route,
    status,
    milliseconds: Math.round(request.milliseconds * 1000) / 1000,
    ...operation,
    traceId: request.traceId,
  };
}
