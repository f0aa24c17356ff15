import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AccessLog } from '../../access-log/access-log.js';
import { UnauthenticatedError } from '../../auth/authentication.error.js';
import { OAuthGuard } from '../../auth/oauth.guard.js';
import type { Principal } from '../../auth/principal.js';
import { Revisions } from '../../database/revisions/revisions.js';
import { type CachedResponse, ResponseCache } from '../cache/response-cache.js';
import { KnownDocuments } from '../analysis/known-documents.js';
import { LoadShedder } from '../rate-limit/load-shedder.js';
import { headersOfRead, type MirrorRead } from '../../database/mirror-read.js';
import type { OperationLabel } from '../analysis/operation-label.js';
import { ResponseCacheKey } from '../cache/response-cache-key.js';
import { headersOf } from '../rate-limit/rate-limit-headers.js';
import { RateLimiter, type RateLimitState } from '../rate-limit/rate-limiter.js';
import { buildRefusal, isEndpoint, refuseForNow } from '../errors/rejection.js';
import { readHead } from './request-head.js';
import { passOn, readRequest } from './request-body.js';
import type { Introduction } from './fast-path.js';
import { readMaxStaleness } from '../../common/max-staleness.js';
import { Staleness } from '../../database/staleness.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent a request to the GraphQL endpoint; null: nobody said. */
    principal: Principal | null;
    /** What the headers of the answer tell about limits; null outside of the GraphQL endpoint. */
    rateLimits: RateLimitState[] | null;
    /** The body as it came; null where there is none. */
    bodyText: string | null;
    /** The media type of the answer; null outside of the GraphQL endpoint. */
    answerType: string | null;
    /** What answers are remembered for; null outside of the GraphQL endpoint. */
    question: ResponseCacheKey | null;
    /** Whether the gate has taken it on, and is to be told when it is answered. */
    isUnderWay: boolean;
    /** What its operation is called; null while none has come of it. */
    operation: OperationLabel | null;
    /** Seconds that the mirror may be old for it; null: there is no bound. */
    maxStaleness: number | null;
    /** What its answer was read from; null: nothing of it is in the directory. */
    mirrorRead: MirrorRead | null;
    /** Statements that its operation has sent. */
    statements: number;
    /** What becomes of the answer, if it is one to remember. */
    keep: ((body: Buffer, contentType: string) => void) | null;
  }
}

/**
 * The HTTP side of the GraphQL endpoint: what HTTP itself has to say about a request is decided here, before
 * Apollo sees it (docs/http.md).
 */
@Injectable()
export class GraphQLEndpoint implements OnModuleInit {
  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly guard: OAuthGuard,
    private readonly limiter: RateLimiter,
    private readonly answers: ResponseCache,
    private readonly knownDocuments: KnownDocuments,
    private readonly gate: LoadShedder,
    private readonly accessLog: AccessLog,
    private readonly revisions: Revisions,
    private readonly staleness: Staleness,
  ) {}

  onModuleInit(): void {
    // Commands run without HTTP, and then there is no adapter, whatever its type says.
    const adapter = this.adapterHost.httpAdapter as AbstractHttpAdapter | null | undefined;
    if (!adapter) return;
    const fastify = adapter.getInstance<FastifyInstance>();
    fastify.decorateRequest('principal', null);
    fastify.decorateRequest('rateLimits', null);
    fastify.decorateRequest('bodyText', null);
    fastify.decorateRequest('answerType', null);
    fastify.decorateRequest('question', null);
    fastify.decorateRequest('isUnderWay', false);
    fastify.decorateRequest('keep', null);
    fastify.decorateRequest('operation', null);
    fastify.decorateRequest('statements', 0);
    fastify.decorateRequest('maxStaleness', null);
    fastify.decorateRequest('mirrorRead', null);
    // For all routes, since Nest has made that of the endpoint by now; a look at the path costs nothing.
    fastify.addHook('onRequest', (request, reply, done) => {
      if (!isEndpoint(request)) done();
      else if (this.gate.refusesUnread(performance.now())) refuseForNow(request, reply);
      else follow(() => this.receive(request), done, done);
    });
    fastify.addHook('preHandler', (request, reply, done) => {
      if (!isEndpoint(request)) {
        done();
        return;
      }
      const known = request.raw.introduction ?? null;
      request.question = known?.question ?? questionOf(request);
      // What is remembered is given also when there is too much to do: it costs no more than to refuse it.
      const answer = known === null ? this.answers.find(request.question) : null;
      if (answer !== null) {
        // It goes no further then.
        follow(
          () => this.repeat(answer, request, reply),
          () => undefined,
          done,
        );
        return;
      }
      if (!this.gate.begin(performance.now())) {
        refuseForNow(request, reply);
        return;
      }
      request.isUnderWay = true;
      this.answer(request, reply, done);
    });
    fastify.addHook('onSend', (request, reply, payload, done) => {
      if (request.isUnderWay) {
        request.isUnderWay = false;
        this.gate.end();
      }
      if (!this.limiter.isSettled(request)) {
        this.settle(request, reply).then((refusal) => {
          done(null, refusal ?? payload);
        }, done);
        return;
      }
      setRateLimitHeaders(request, reply);
      if (request.mirrorRead !== null) void reply.headers(headersOfRead(request.mirrorRead));
      if (request.keep === null || typeof payload !== 'string' || reply.statusCode !== 200) {
        done(null, payload);
        return;
      }
      const body = Buffer.from(payload);
      request.keep(body, String(reply.getHeader('content-type')));
      done(null, body);
    });
  }

  /** Or lets Apollo answer. */
  private answer(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    try {
      const parameters = readRequest(request);
      const question = this.knownDocuments.find(request, parameters);
      if (question === null) {
        passOn(request, parameters);
        done();
        return;
      }
      this.knownDocuments.answer(question, request, reply).catch(done);
    } catch (error) {
      done(error as Error);
    }
  }

  private receive(request: FastifyRequest): void | Promise<void> {
    request.rateLimits = [];
    const known = request.raw.introduction;
    if (known !== undefined) {
      adopt(known, request);
      return this.limiter.countRequest(request);
    }
    request.answerType = readHead(request);
    request.maxStaleness = readMaxStaleness(request.headers);
    const principal = this.guard.recall(request.raw);
    if (principal === undefined) return this.authenticate(request);
    request.principal = principal;
    return this.limiter.countRequest(request);
  }

  private async authenticate(request: FastifyRequest): Promise<void> {
    try {
      request.principal = await this.guard.authenticate(request.raw, request.ip);
    } catch (error) {
      // Guesses are counted as well, for the address that they come from.
      if (error instanceof UnauthenticatedError) await this.limiter.countRequest(request);
      throw error;
    }
    await this.limiter.countRequest(request);
  }

  /** A request that came to no price is counted at the end; the answer then is another one if it is one too many. */
  private async settle(request: FastifyRequest, reply: FastifyReply): Promise<string | null> {
    try {
      await this.limiter.settle(request);
      return null;
    } catch (error) {
      const { status, headers, body } = buildRefusal(error, request.id);
      void reply
        .code(status)
        .headers(headers)
        .removeHeader('content-length')
        .removeHeader('www-authenticate');
      return body;
    } finally {
      setRateLimitHeaders(request, reply);
    }
  }

  /** Gives the answer that was given to the same question before, for the same price. */
  private repeat(answer: CachedResponse, request: FastifyRequest, reply: FastifyReply): void | Promise<void> {
    const { revision } = answer;
    if (revision === null) return this.repeatAtOnce(answer, null, request, reply);
    const asOf = this.revisions.freshness.asOfRevision(revision);
    if (asOf !== null && request.maxStaleness === null)
      return this.repeatAtOnce(answer, { revision, asOf }, request, reply);
    return this.repeatWhenFresh(answer, revision, request, reply);
  }

  /** Where it has to be found out first how fresh the mirror is. */
  private async repeatWhenFresh(
    answer: CachedResponse,
    revision: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    await this.staleness.refuse(request.maxStaleness);
    const asOf = await this.revisions.asOfRevision(revision);
    await this.repeatAtOnce(answer, { revision, asOf }, request, reply);
  }

  private repeatAtOnce(
    answer: CachedResponse,
    read: MirrorRead | null,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void | Promise<void> {
    request.operation = answer.operation;
    const send = () => {
      // Only now: a refusal has nothing of the directory.
      request.mirrorRead = read;
      if (answer.access !== null && request.principal !== null)
        this.accessLog.note(request.principal, answer.access);
      if (answer.headers !== null) void reply.headers(answer.headers);
      void reply.header('cache-control', 'no-store').type(answer.contentType).send(answer.body);
    };
    const charge = this.limiter.charge(request, answer.cost, false);
    if (charge instanceof Promise) return charge.then(send);
    send();
  }
}

/** Does the work of a hook, on the spot where it can: a promise costs as much as most of it. */
function follow(work: () => void | Promise<void>, goOn: () => void, refuse: (error: Error) => void): void {
  let underWay: void | Promise<void>;
  try {
    underWay = work();
  } catch (error) {
    refuse(error as Error);
    return;
  }
  if (underWay === undefined) goOn();
  else underWay.then(goOn, refuse);
}

/** Takes over what is known already. Its body has been read: as far as Fastify is to mind, there is none. */
function adopt({ principal, answerType, bodyText }: Introduction, request: FastifyRequest): void {
  request.principal = principal;
  request.answerType = answerType;
  request.bodyText = bodyText;
  request.raw.headers['content-type'] = undefined;
  request.raw.headers['content-length'] = undefined;
}

function setRateLimitHeaders({ rateLimits }: FastifyRequest, reply: FastifyReply): void {
  const headers = rateLimits === null ? null : headersOf(rateLimits);
  if (headers !== null) void reply.headers(headers);
}

function questionOf(request: FastifyRequest): ResponseCacheKey {
  return new ResponseCacheKey(request.principal, request.answerType ?? '', request.bodyText ?? request.url);
}
