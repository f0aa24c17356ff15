import { isUtf8 } from 'node:buffer';
import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FastifyHttpOptions, RawServerDefault } from 'fastify';
import { ServiceError, ServiceUnavailableError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { corsHeaders, preflightHeaders, securityHeaders } from './headers.js';
import { chooseRequestId, findHeadProblem } from './malformed-requests.js';
import { type RejectionForm, RejectionWriter } from './rejection.js';

/** The interval in which requests are looked for that have not arrived in time, and clients that do not read. */
const LATE_CHECK_INTERVAL_MS = 1000;
/** A client may take this many times longer to read a response than to send a request. */
const RESPONSE_TIMEOUT_FACTOR = 4;
/** Unanswered requests of a connection. What clients send without waiting for responses stays in memory (RFC 9112 §9.3.2). */
const MOST_PIPELINED = 64;
/**
 * The port is closed after an interval without new requests, and after this many intervals at the latest.
 * On a busy machine, the first of several processes may take this long to accept a connection.
 */
const QUIET_INTERVAL_MS = 400;
const MAX_QUIET_CHECKS = 10;
/** Readiness fails for this time before the port is closed, so that balancers can see it. */
const READINESS_DELAY_MS = 1000;
/** Requests have this time after the port was closed. */
const DRAIN_TIMEOUT_MS = 10_000;

/** Fastify with the limits, the headers and the rejections of this service. */
export class HttpAdapter extends FastifyAdapter {
  /** The only routes that are answered while the database is not open yet. Null: all of them. */
  onlyRoutes: ReadonlySet<string> | null = null;
  private readonly headers: Record<string, string>;
  private readonly origins: readonly string[];
  /** Aborted when the port is closed: responses that have no end of their own end now. */
  readonly drained = new AbortController();
  /** Requests that wait until the port is closed; null if none has to. */
  private held: (() => void)[] | null = null;

  /** @param forms how rejections are written below some paths */
  constructor(config: Config, forms: readonly RejectionForm[] = []) {
    const rejections = new RejectionWriter(forms);
    // Such an error occurs before all hooks.
    const rejectUrl = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
      void rejections.send(error, request, this.begin(request, reply));
    };
    super({ ...optionsOf(config), frameworkErrors: rejectUrl });
    this.headers = securityHeaders(config);
    this.origins = config.corsOrigins;
    const fastify = this.getInstance<FastifyInstance>();
    prepareServer(fastify.server, config);
    this.registerSteps(fastify);
    fastify.setNotFoundHandler((request, reply) => rejections.send(new NotFoundRouteError(), request, reply));
    // Before there are routes, because a route keeps the handler that was set when it was made.
    fastify.setErrorHandler(rejections.send);
    readJsonOnly(fastify);
  }

  private begin(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    void reply.headers(this.headers).header('x-request-id', request.id);
    return reply.headers(corsHeaders(this.origins, request.raw));
  }

  /** The steps of every request of Fastify, on every path. */
  private registerSteps(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, reply, done) => {
      this.begin(request, reply);
      if (request.raw.socket.destroyed) return; // It gets no response.
      const problem = findHeadProblem(request.raw);
      if (problem !== null) {
        void reply.header('connection', 'close');
        done(problem);
        return;
      }
      const preflight = preflightHeaders(this.origins, request.raw);
      if (preflight !== null) void reply.code(204).headers(preflight).send();
      else if (this.onlyRoutes?.has(request.routeOptions.url ?? '') === false)
        done(new ServiceUnavailableError('The database cannot be reached at the moment'));
      else if (this.held === null) done();
      else this.held.push(done);
    });
    // Before the body is read, so that its type does not matter.
    fastify.addHook('preParsing', (request, _reply, payload, done) => {
      done(request.is404 ? new NotFoundRouteError() : null, payload);
    });
  }

  /** Begins the shutdown: every response from now on closes its connection. */
  override beforeClose(): void {
    super.beforeClose();
    this.headers['connection'] = 'close';
  }

  /**
   * Closes the port. The kernel resets connections that it has accepted and the process has not, with the requests on them.
   * Requests wait until no new one comes, so that clients send nothing new and all connections are accepted.
   */
  async stopListening(): Promise<void> {
    const held: (() => void)[] = [];
    this.held = held;
    let seen = -1;
    for (let check = 0; check < MAX_QUIET_CHECKS && held.length > seen; check++) {
      seen = held.length;
      await sleep(QUIET_INTERVAL_MS);
    }
    this.getHttpServer().close();
    await sleep(QUIET_INTERVAL_MS); // The first process of a cluster closes the port a moment later.
    this.held = null;
    for (const resume of held) resume();
  }

  /** Accepts no new connections. The open ones end with their next response. */
  stopAccepting(): void {
    // The method of the HTTP server would also close connections on which a request may be arriving.
    NetServer.prototype.close.call(this.getHttpServer());
  }

  override setErrorHandler(): ReturnType<FastifyAdapter['setErrorHandler']> {
    return this.getInstance();
  }

  override setNotFoundHandler(): ReturnType<FastifyAdapter['setNotFoundHandler']> {
    return this.getInstance();
  }

  /** Adds no parsers of Nest: no route reads forms, and JSON has its parser here. */
  override registerParserMiddleware(): void {
    return;
  }
}

/** Ends the service without losing a request: readiness fails, the port is closed, open requests are answered. */
@Injectable()
export class GracefulShutdown implements BeforeApplicationShutdown {
  constructor(private readonly host: HttpAdapterHost) {}

  async beforeApplicationShutdown(signal?: string): Promise<void> {
    const adapter = this.host.httpAdapter as unknown;
    // Commands do not listen.
    if (!(adapter instanceof HttpAdapter)) return;
    // Another process gets the new connections.
    if (signal === 'SIGHUP') {
      adapter.stopAccepting();
      await sleep(READINESS_DELAY_MS);
      adapter.getHttpServer().closeIdleConnections();
    }
    // SIGINT comes from a terminal, where no balancer is.
    if (signal === 'SIGTERM') {
      await sleep(READINESS_DELAY_MS);
      await adapter.stopListening();
    }
    adapter.drained.abort();
    setTimeout(() => {
      adapter.getHttpServer().closeAllConnections();
    }, DRAIN_TIMEOUT_MS).unref();
  }
}

function optionsOf({ limits, trustedProxies, basePath }: Config): FastifyHttpOptions<RawServerDefault> {
  const timeout = limits.requestSeconds * 1000;
  return {
    bodyLimit: limits.bodyBytes,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    requestTimeout: timeout,
    http: {
      // With the URL, which has a limit of its own and a better message.
      maxHeaderSize: 24_576,
      // Otherwise Node keeps the first of several fields, and a proxy in front may keep the other one.
      joinDuplicateHeaders: true,
      // Checked by findHeadProblem and the endpoint, which reject it in the form of the path.
      requireHostHeader: false,
      headersTimeout: timeout,
      requestTimeout: timeout,
      connectionsCheckingInterval: LATE_CHECK_INTERVAL_MS,
    },
    genReqId: chooseRequestId,
    rewriteUrl: ({ url = '/' }) => withoutBasePath(url, basePath),
    routerOptions: { maxParamLength: 1024 },
    // Requests on open connections are answered during the shutdown.
    return503OnClosing: false,
  };
}

function prepareServer(server: Server, { limits }: Config): void {
  // Node would ignore all header fields after the first two thousand. Their size is limited.
  server.maxHeadersCount = 0;
  server.maxConnections = limits.connections;
  watchConnections(server, limits.requestSeconds * 1000 * RESPONSE_TIMEOUT_FACTOR);
  // Node answers what it does not read to its end only where no response has begun, and Fastify in any case.
  server.removeAllListeners('clientError');
}

class NotFoundRouteError extends Error {
  readonly statusCode = 404;
}

/**
 * Closes connections whose clients send too many requests at once, or do not read their responses. Node has time limits for
 * requests only. `timeoutMs`: how long bytes of responses may wait without a pause.
 */
function watchConnections(server: Server, timeoutMs: number): void {
  /** The unanswered requests, and since when bytes wait, in milliseconds of `performance.now()`. Null: none waits. */
  const connections = new Map<Socket, { open: number; since: number | null }>();
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { open: 0, since: null });
    socket.once('close', () => connections.delete(socket));
  });
  server.prependListener('request', ({ socket }, response) => {
    const connection = connections.get(socket) ?? { open: 0, since: null };
    response.once('close', () => connection.open--);
    if (++connection.open > MOST_PIPELINED) socket.destroy();
  });
  const timer = setInterval(() => {
    const now = performance.now();
    for (const [socket, connection] of connections) {
      connection.since = socket.writableLength === 0 ? null : (connection.since ?? now);
      if (connection.since !== null && now - connection.since > timeoutMs) socket.destroy();
    }
  }, LATE_CHECK_INTERVAL_MS).unref();
  server.once('close', clearInterval.bind(null, timer));
}

/** A proxy in front may keep the path of BASE_URL, or take it away. */
function withoutBasePath(url: string, basePath: string): string {
  if (basePath === '' || !url.startsWith(basePath)) return url;
  const rest = url.slice(basePath.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : url;
}

/** Bodies are kept as text: the response cache needs no parsed body. */
function readJsonOnly(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  const types = ['application/json', 'application/scim+json'];
  fastify.addContentTypeParser(types, { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    // Decoding alone would replace invalid bytes by U+FFFD, which may be a valid request.
    request.bodyText = isUtf8(body) ? body.toString() : null;
    done(request.bodyText === null ? new ServiceError('BAD_REQUEST', 'The body is not valid UTF-8') : null);
  });
}
