import { isUtf8 } from 'node:buffer';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../common/errors.js';
import { chooseRequestId } from '../common/request-id.js';
import type { Config } from '../config/config.js';
import { headersOf } from '../graphql/rate-limit/rate-limit-headers.js';
import type { ShortAnswer, ShortRequest, ShortWay } from '../graphql/http/fast-path.js';
import { findHeadProblem } from './request-head-check.js';
import { NothingHereError, refuseRequest } from './reject-request.js';
import { securityHeaders } from './security-headers.js';
import { closeSlowReaders } from './slow-readers.js';
import { LARGEST_HEAD, type UnparsedRejection, UnparsedRequests } from './unparsed-requests.js';

/** Milliseconds between two looks for requests that have not arrived in time. */
const LOOK_FOR_LATE = 1000;
/** Times as long as a request may take to arrive, an answer may take to be read. */
const ANSWER_PATIENCE = 4;
/** Milliseconds in which nothing new has to come before the port is closed, and how often that is looked for. */
const QUIET = 100;
const LOOKS = 10;

declare module 'fastify' {
  interface FastifyInstance {
    short: {
      /** Null: all requests go through Fastify. */
      way: Pick<ShortWay, 'take'> | null;
      /** Is told of each request that has taken it, and when that came, in milliseconds of `performance.now()`; null: nobody is. */
      watch: ((request: ShortRequest, response: ServerResponse, began: number) => void) | null;
      /** Is told of each refusal of what could not be read as a request; null: nobody is. */
      watchUnread: ((refusal: UnparsedRejection) => void) | null;
    };
  }
}

/**
 * Fastify, with every refusal in our own words: those of the frameworks repeat the URL, in which a signature may
 * be, and none of them is a GraphQL response.
 */
export class HttpAdapter extends FastifyAdapter {
  /** Headers of every answer. */
  private readonly always: Record<string, string>;
  /** Requests that wait for the port to be closed; null: none has to. */
  private held: (() => void)[] | null = null;

  constructor(config: Config) {
    const always = securityHeaders(config);
    const unread = new UnparsedRequests(always, (refusal) => {
      this.getInstance<FastifyInstance>().short.watchUnread?.(refusal);
    });
    const milliseconds = config.limits.requestSeconds * 1000;
    super({
      bodyLimit: config.limits.bodyBytes,
      requestTimeout: milliseconds,
      trustProxy: config.trustedProxies.length > 0 ? [...config.trustedProxies] : false,
      // Whether there is a Host is looked at where it can be answered in the form of the path.
      http: {
        maxHeaderSize: LARGEST_HEAD,
        requireHostHeader: false,
        headersTimeout: milliseconds,
        requestTimeout: milliseconds,
        connectionsCheckingInterval: LOOK_FOR_LATE,
      },
      genReqId: chooseRequestId,
      rewriteUrl: ({ url = '/' }) => withoutBasePath(toOriginForm(url), config.basePath),
      routerOptions: { maxParamLength: 1024 },
      // Whoever comes on an open connection while the service ends is answered as long as it can be.
      return503OnClosing: false,
      clientErrorHandler: (error: Error & { code?: string }, socket: Socket) => {
        unread.refuse(error, socket);
      },
      frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
        // These come before every hook.
        void refuseRequest(error, request, reply.headers(always).header('x-request-id', request.id));
      },
    });
    this.always = always;
    const fastify = this.getInstance<FastifyInstance>();
    fastify.decorate('errorsPage', `${config.baseUrl}/reference/errors`);
    fastify.decorate('short', { way: null, watch: null, watchUnread: null });
    this.standBefore(fastify);
    // Node would drop what is above two thousand without a word: their size bounds them.
    fastify.server.maxHeadersCount = 0;
    fastify.server.maxConnections = config.limits.connections;
    closeSlowReaders(fastify.server, milliseconds * ANSWER_PATIENCE);
    fastify.server.on('connect', (request, socket) => {
      unread.refuseTunnel(request, socket);
    });
    // Node would refuse it in words of its own.
    fastify.server.on('checkExpectation', (request, response) => {
      fastify.server.emit('request', request, response);
    });
    fastify.addHook('onRequest', (request, reply, done) => {
      void reply.headers(always).header('x-request-id', request.id);
      unread.begin(reply);
      const problem = findHeadProblem(request.raw);
      if (problem !== null) {
        void reply.header('connection', 'close');
        done(problem);
      } else if (this.held === null) done();
      else this.held.push(done);
    });
    // Before the body is read, whose type does not matter then.
    fastify.addHook('preParsing', (request, _reply, payload, done) => {
      done(request.is404 ? new NothingHereError() : null, payload);
    });
    fastify.setNotFoundHandler((request, reply) => refuseRequest(new NothingHereError(), request, reply));
    // Now, because routes keep the handler that they found when they were made.
    fastify.setErrorHandler(refuseRequest);
    readJsonOnly(fastify);
  }

  /** Lets requests take the short way where there is one. */
  private standBefore({ server, short }: FastifyInstance): void {
    const listeners = server.listeners('request') as RequestListener[];
    server.removeAllListeners('request').on('request', (request, response) => {
      const leave = () => {
        for (const listener of listeners) listener(request, response);
      };
      if (short.way === null || this.held !== null) {
        leave();
        return;
      }
      const began = performance.now();
      const send = (answer: ShortAnswer) => {
        this.send(answer, response);
        short.watch?.(answer.request, response, began);
      };
      short.way.take(request, send, leave);
    });
  }

  /** A list, because V8 keeps objects that are put together of several for long, and with them what they belong to. */
  private send({ request, status, type, headers, body }: ShortAnswer, response: ServerResponse): void {
    const fields = ['x-request-id', request.id, 'content-type', type];
    fields.push('content-length', String(Buffer.byteLength(body)));
    for (const some of [this.always, headers, headersOf(request.rateLimits)]) {
      for (const name in some) fields.push(name, some[name] ?? '');
    }
    response.writeHead(status, fields).end(body);
  }

  /** The first that is done when the service ends: whoever is answered from now on leaves the connection. */
  override beforeClose(): void {
    super.beforeClose();
    this.always['connection'] = 'close';
  }

  /**
   * Closes the port. What the kernel has accepted by then and the process has not is reset, with the request on it, so
   * requests wait for a moment: whoever waits for an answer begins nothing new, and all that has come is taken in.
   */
  async stopListening(): Promise<void> {
    const held: (() => void)[] = [];
    this.held = held;
    let seen = -1;
    for (let look = 0; look < LOOKS && held.length > seen; look++) {
      seen = held.length;
      await sleep(QUIET);
    }
    this.getHttpServer().close();
    this.held = null;
    for (const goOn of held) goOn();
  }

  /** Nest's has the last word otherwise. */
  override setErrorHandler(): ReturnType<FastifyAdapter['setErrorHandler']> {
    return this.getInstance();
  }

  /** As above. */
  override setNotFoundHandler(): ReturnType<FastifyAdapter['setNotFoundHandler']> {
    return this.getInstance();
  }

  /** Nothing here reads forms, and JSON has its parser. */
  override registerParserMiddleware(): void {
    return;
  }
}

/** RFC 9112 §3.2.2: a server takes the absolute form too. What is no path, as the asterisk, is no route either. */
function toOriginForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** A proxy in front may keep the path of BASE_URL, or take it away. */
function withoutBasePath(url: string, basePath: string): string {
  if (basePath === '' || !url.startsWith(basePath)) return url;
  const rest = url.slice(basePath.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : url;
}

/** Bodies are kept as text: one that was answered before is answered again without being parsed. */
function readJsonOnly(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    // Decoding alone would put U+FFFD in the place of what it does not understand, and ask for that.
    if (!isUtf8(body)) {
      done(new ServiceError('BAD_REQUEST', 'The body is not valid UTF-8'));
      return;
    }
    request.bodyText = body.toString();
    done(null);
  });
}
