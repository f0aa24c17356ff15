import type { Socket } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TokenKind } from '../auth/principal.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { Standing } from '../graphql/rate-limit/rate-limiter.js';
import { GRAPHQL_PATH } from '../graphql/errors/rejection.js';
import { createLog, type Log } from './logging/log.js';
import { addRequest, RequestCounts } from './metrics/request-counts.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The trace that it belongs to (W3C Trace Context); null: none is made. */
    traceId: string | null;
  }
}

/** A connection, and what it waits for an answer to. */
type WatchedSocket = Socket & { waiting?: FastifyReply | null };

/** As nginx says it: whoever asked has gone before the answer. No status of HTTP, since nobody is told it. */
const CLIENT_CLOSED_REQUEST = 499;
/** Where nothing has this path, and where no operation came of a request. */
const NONE = 'none';

/**
 * Counts every request, and writes a line of the log about it, when all of its answer has been sent or its connection is cut.
 * What is told of who asks is how they are known, and of what they ask what it is called (docs/monitoring.md).
 */
@Injectable()
export class RequestWatch {
  constructor(
    host: HttpAdapterHost,
    @Inject(CONFIG) config: Config,
    private readonly counts: RequestCounts,
  ) {
    // Commands run without HTTP, and then there is no adapter, whatever its type says.
    const adapter = host.httpAdapter as AbstractHttpAdapter | null | undefined;
    const { requestLines, metrics } = config.monitoring;
    const log = createLog(config);
    const isLogged = requestLines && log.lines.isLevelEnabled('info');
    if (!adapter || (!isLogged && metrics === null)) return;
    const fastify = adapter.getInstance<FastifyInstance>();
    fastify.decorateRequest('traceId', null);
    // Before anything has routes: each has the hooks that were there when it was made.
    fastify.addHook('onRequest', (request, reply, done) => {
      (request.raw.socket as WatchedSocket).waiting = reply;
      done();
    });
    fastify.addHook('onResponse', (request, reply, done) => {
      const socket = request.raw.socket as WatchedSocket;
      // Of what could not be sent the end of its connection tells.
      if (reply.raw.writableFinished) {
        if (socket.waiting === reply) socket.waiting = null;
        this.note(seenOf(request, reply), reply.statusCode, isLogged ? log : null);
      }
      done();
    });
    if (fastify.hasDecorator('short')) {
      fastify.short.watch = (request, response, began) => {
        response.once('close', () => {
          const status = response.writableFinished ? response.statusCode : CLIENT_CLOSED_REQUEST;
          const milliseconds = performance.now() - began;
          const seen = { ...request, route: GRAPHQL_PATH, milliseconds, statements: 0, traceId: null };
          this.note(seen, status, isLogged ? log : null);
        });
      };
    }
    if (fastify.hasDecorator('short')) {
      fastify.short.watchUnread = ({ id, status }) => {
        this.note({ ...UNREAD, id }, status, isLogged ? log : null);
      };
    }
    // Once a connection: to listen for it at each request would cost more than all the rest here.
    fastify.server.on('connection', (socket: WatchedSocket) => {
      socket.once('close', () => {
        const reply = socket.waiting ?? null;
        socket.waiting = null;
        if (reply !== null && !reply.raw.writableFinished)
          this.note(seenOf(reply.request, reply), CLIENT_CLOSED_REQUEST, isLogged ? log : null);
      });
    });
  }

  private note(request: SeenRequest, status: number, log: Log | null): void {
    const { operation, standings, statements, route, milliseconds } = request;
    const price = standings === null ? null : priceIn(standings);
    const count = this.counts.of(route, operation?.field ?? NONE);
    addRequest(count, status, milliseconds / 1000);
    if (standings !== null) this.counts.addOperation(request.principal?.kind ?? 'NONE');
    count.points += price ?? 0;
    count.statements += statements;
    if (log === null) return;
    const { id: requestId, method, traceId } = request;
    const line: RequestLine = {
      requestId,
      method,
      route,
      status,
      milliseconds: Math.round(milliseconds * 1000) / 1000,
    };
    if (standings !== null) {
      line.operation = operation?.name ?? null;
      line.field = operation?.field ?? null;
      line.principal = request.principal?.kind ?? null;
      line.price = price;
      line.statements = statements;
    }
    if (traceId !== null) line.traceId = traceId;
    log.lines.info(line, 'request');
  }
}

/** A request that is over, whichever way it took. */
interface SeenRequest extends Pick<
  FastifyRequest,
  'id' | 'method' | 'operation' | 'principal' | 'standings' | 'statements' | 'traceId'
> {
  readonly route: string;
  readonly milliseconds: number;
}

/** A request of which nothing could be read. */
const UNREAD: Omit<SeenRequest, 'id'> = {
  method: 'unknown',
  route: NONE,
  operation: null,
  principal: null,
  standings: null,
  statements: 0,
  traceId: null,
  milliseconds: 0,
};

function seenOf(request: FastifyRequest, { elapsedTime: milliseconds }: FastifyReply): SeenRequest {
  const { id, method, operation, principal, standings, statements, traceId } = request;
  const route = standings === null ? routeOf(request) : GRAPHQL_PATH;
  return { id, method, operation, principal, standings, statements, traceId, route, milliseconds };
}

/** What is told of a request: docs/monitoring.md has an example. */
interface RequestLine {
  requestId: string;
  method: string;
  route: string;
  status: number;
  milliseconds: number;
  /** These five are of requests to the GraphQL endpoint. */
  operation?: string | null;
  field?: string | null;
  principal?: TokenKind | null;
  price?: number | null;
  statements?: number;
  traceId?: string;
}

/** As it was declared: what stands in its place in a request may be anything. */
function routeOf(request: FastifyRequest): string {
  return request.is404 ? NONE : (request.routeOptions.url ?? NONE);
}

function priceIn(standings: readonly Standing[]): number | null {
  for (const { cost } of standings) if (cost !== null) return cost;
  return null;
}
