import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { AccessLog } from '../../access-log/access-log.js';
import { OAuthGuard } from '../../auth/oauth.guard.js';
import type { Principal } from '../../auth/principal.js';
import { chooseRequestId } from '../../common/request-id.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Revisions } from '../../database/revisions/revisions.js';
import { type CachedResponse, ResponseCache } from '../cache/response-cache.js';
import { LoadShedder } from '../rate-limit/load-shedder.js';
import { headersOfRead, type MirrorRead } from '../../database/mirror-read.js';
import type { OperationLabel } from '../analysis/operation-label.js';
import { ResponseCacheKey } from '../cache/response-cache-key.js';
import { RateLimiter, type RateLimitState } from '../rate-limit/rate-limiter.js';
import { buildRefusal, GRAPHQL_PATH, refusalForNow, typeOfRefusal } from '../errors/rejection.js';
import { recallHead } from './request-head.js';
import { MAX_STALENESS } from '../../common/max-staleness.js';

/** A request that Fastify has not seen, as far as it is known. */
export interface ShortRequest {
  readonly id: string;
  readonly method: string;
  readonly principal: Principal | null;
  /** What was taken of limits. */
  readonly rateLimits: RateLimitState[];
  operation: OperationLabel | null;
}

/** What it is answered. */
export interface ShortAnswer {
  readonly request: ShortRequest;
  readonly status: number;
  /** The media type. */
  readonly type: string;
  /** Headers of its own. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

/** What has been found out of a request before Fastify sees it. */
export interface Introduction {
  readonly principal: Principal;
  /** The media type of the answer. */
  readonly answerType: string;
  readonly bodyText: string;
  /** Nothing that was remembered answers it. */
  readonly question: ResponseCacheKey;
}

const NOT_STORED = { 'cache-control': 'no-store' };

declare module 'node:http' {
  interface IncomingMessage {
    /** Where it has been looked at, and its body been read. */
    introduction?: Introduction;
  }
}

/**
 * Answers what needs no more than a look, before Fastify makes a route, hooks and a reply of it, which take longer than all the
 * rest: what was answered before (docs/adr/0017), and in a flood what is one too many (docs/adr/0023). Whatever may be anything
 * but a plain request to the endpoint of a caller who is known goes on to Fastify, where all of this is decided as well.
 */
@Injectable()
export class ShortWay implements OnModuleInit {
  /** The endpoint as it may come: a proxy in front may keep the path of BASE_URL, or take it away. */
  private readonly paths: readonly string[];
  private readonly largestBody: number;
  private readonly isTraced: boolean;

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    @Inject(CONFIG) { basePath, limits, monitoring }: Config,
    private readonly guard: OAuthGuard,
    private readonly limiter: RateLimiter,
    private readonly answers: ResponseCache,
    private readonly gate: LoadShedder,
    private readonly accessLog: AccessLog,
    private readonly revisions: Revisions,
  ) {
    this.paths = [...new Set([GRAPHQL_PATH, `${basePath}${GRAPHQL_PATH}`])];
    this.largestBody = limits.bodyBytes;
    // Spans are begun by a hook.
    this.isTraced = monitoring.traces !== null;
  }

  onModuleInit(): void {
    // Commands run without HTTP, and then there is no adapter, whatever its type says.
    const adapter = this.adapterHost.httpAdapter as AbstractHttpAdapter | null | undefined;
    const fastify = adapter?.getInstance<FastifyInstance>();
    if (fastify?.hasDecorator('short') === true) fastify.short.way = this;
  }

  /** Answers a request, or leaves it to others. */
  take(request: IncomingMessage, send: (answer: ShortAnswer) => void, leave: () => void): void {
    // Pages of other origins are told by headers of Fastify's that they may read the answer.
    if (request.headers.origin !== undefined || !this.isForEndpoint(request.url ?? '')) {
      leave();
    } else if (request.headers[MAX_STALENESS] !== undefined) {
      // How old the mirror is may have to be asked for.
      leave();
    } else if (this.gate.isFlooded && this.gate.refusesUnread(performance.now())) {
      send(this.refuse(request));
    } else if (!this.isPlain(request) || this.isTraced || this.limiter.isShared) {
      leave();
    } else {
      // By then all of the body is there that came together with the head.
      process.nextTick(() => {
        const answer = this.recall(request);
        if (answer === null) leave();
        else send(answer);
      });
    }
  }

  private refuse(request: IncomingMessage): ShortAnswer {
    const short = introduce(request, null);
    const type = recallHead(request) ?? typeOfRefusal({ raw: request });
    const { status, headers, body } = refusalForNow(short.id);
    return { request: short, status, type, headers, body };
  }

  /** What is behind the path may be too long, and is never what a POST asks for. */
  private isPlain({ method, url = '', headers }: IncomingMessage): boolean {
    return method === 'POST' && headers.expect === undefined && this.paths.includes(url);
  }

  private isForEndpoint(url: string): boolean {
    return this.paths.some((path) => url === path || url.startsWith(`${path}?`));
  }

  /** The answer that was given to the same before; null: there is none, or it takes more than a look to tell. */
  private recall(request: IncomingMessage): ShortAnswer | null {
    const length = Number(request.headers['content-length']);
    if (request.readableLength !== length || length > this.largestBody) return null;
    const answerType = recallHead(request);
    const principal = answerType === undefined ? null : (this.guard.recall(request) ?? null);
    if (answerType === undefined || principal === null) return null;
    const body = request.read() as Buffer | null;
    if (body === null) return null;
    if (!isUtf8(body)) {
      request.unshift(body);
      return null;
    }
    const bodyText = body.toString();
    const question = new ResponseCacheKey(principal, answerType, bodyText);
    const answer = this.answers.find(question);
    const read = answer === null ? null : this.mirrorReadOf(answer);
    if (answer === null || read === undefined) {
      request.introduction = { principal, answerType, bodyText, question };
      return null;
    }
    return this.repeat(answer, read, introduce(request, principal), answerType);
  }

  /** Null: the answer has nothing of the directory. Undefined: how fresh it is has to be asked for. */
  private mirrorReadOf({ revision }: CachedResponse): MirrorRead | null | undefined {
    if (revision === null) return null;
    const asOf = this.revisions.freshness.asOfRevision(revision);
    return asOf === null ? undefined : { revision, asOf };
  }

  /** Counts and prices it as if it had been worked out anew. */
  private repeat(
    answer: CachedResponse,
    read: MirrorRead | null,
    request: ShortRequest & { principal: Principal },
    answerType: string,
  ): ShortAnswer {
    const { principal, rateLimits } = request;
    // By whom it comes does not matter where it is known from whom.
    const caller = { principal, ip: '', rateLimits };
    try {
      void this.limiter.countRequest(caller);
      request.operation = answer.operation;
      void this.limiter.charge(caller, answer.cost, false);
    } catch (error) {
      const { status, headers, body } = buildRefusal(error, request.id);
      return { request, status, type: answerType, headers, body };
    }
    if (answer.access !== null) this.accessLog.note(principal, answer.access);
    const headers = { ...NOT_STORED, ...answer.headers, ...(read === null ? null : headersOfRead(read)) };
    return { request, status: 200, type: answer.contentType, headers, body: answer.body };
  }
}

function introduce<Caller extends Principal | null>(request: IncomingMessage, principal: Caller) {
  return {
    id: chooseRequestId(request),
    method: request.method ?? '',
    principal,
    rateLimits: [],
    operation: null,
  };
}
