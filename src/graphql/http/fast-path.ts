import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import { Inject, Injectable } from '@nestjs/common';
import { completeChallenge } from '../../http/challenges.js';
import { findFieldProblem } from '../../http/malformed-requests.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import type { HttpAdapter } from '../../http/http-adapter.js';
import {
  GRAPHQL_PATH,
  PreparsedRequest,
  type PipelineResponse,
  type TrustFunction,
} from './pipeline-request.js';
import { LoadShedder, RequestAdmission } from './request-admission.js';
import { RequestPipeline } from './request-pipeline.js';

/** Begins a request of the fast path. Returns the function that sends its response. */
type Begin = (request: PreparsedRequest) => (response: PipelineResponse) => void;

/** Called for each request of the fast path before its response, with its arrival time (`performance.now()`). */
type FastPathObserver = (request: PreparsedRequest, response: ServerResponse, began: number) => void;

/**
 * The fast path: runs all steps of the pipeline without Fastify, whose part takes as long as a cached response (docs/adr/0017).
 * Fastify handles requests whose body has not arrived with the head, and whose principal is not cached.
 */
@Injectable()
export class FastPath {
  observer: FastPathObserver | null = null;
  /** A proxy may keep the path of BASE_URL or remove it. */
  private readonly paths: ReadonlySet<string>;
  private readonly baseUrl: string;
  private readonly maxBodyBytes: number;
  /** False while traces are on, because they begin in a hook of Fastify. */
  private readonly isAlone: boolean;
  private readonly isTrusted: TrustFunction;

  constructor(
    @Inject(CONFIG) { baseUrl, basePath, limits, monitoring, trustedProxies }: Config,
    private readonly pipeline: RequestPipeline,
    private readonly admission: RequestAdmission,
    private readonly shedder: LoadShedder,
  ) {
    this.paths = new Set([GRAPHQL_PATH, `${basePath}${GRAPHQL_PATH}`]);
    this.baseUrl = baseUrl;
    this.maxBodyBytes = limits.bodyBytes;
    this.isAlone = monitoring.traces === null;
    this.isTrusted = proxyAddr.compile([...trustedProxies]);
  }

  register(adapter: HttpAdapter): void {
    adapter.fastPath = (request, response, next) => {
      const began = performance.now();
      this.handle(request, next, (preparsed) => {
        this.observer?.(preparsed, response, began);
        return (answer) => {
          this.admission.endOperation(preparsed);
          const more = [answer.headers, ...this.admission.headersOf(preparsed)];
          adapter.respond(request, response, preparsed.id, answer, more);
        };
      });
    };
  }

  /** Responds, or leaves the request to Fastify. */
  handle(request: IncomingMessage, next: () => void, begin: Begin): void {
    const { url = '', method } = request;
    // A preflight gets its headers also while the service is overloaded, so that pages can read the rejection.
    if (!this.isForEndpoint(url) || method === 'OPTIONS') next();
    else if (this.shedder.isOverloaded) this.shedLoad(request, next, begin);
    else if (method !== 'POST' || !this.paths.has(url) || !this.isPlain(request)) next();
    else {
      // A body that arrived together with the head is available by then.
      process.nextTick(() => {
        this.runSteps(request, next, begin);
      });
    }
  }

  private shedLoad(request: IncomingMessage, next: () => void, begin: Begin): void {
    const preparsed = new PreparsedRequest(request, this.isTrusted);
    const response = this.admission.shedLoad(preparsed);
    if (response === undefined) next();
    else begin(preparsed)(response);
  }

  private runSteps(request: IncomingMessage, next: () => void, begin: Begin): void {
    const principal = this.admission.findCachedPrincipal(request);
    const bodyText = principal === null ? null : this.readBody(request);
    if (bodyText === null) {
      next();
      return;
    }
    const preparsed = new PreparsedRequest(request, this.isTrusted);
    preparsed.principal = principal;
    preparsed.bodyText = bodyText;
    const respond = begin(preparsed);
    this.pipeline.runAll(preparsed, (error, response) => {
      const answer = response ?? this.reject(error, preparsed);
      // A request that is rejected by its head was not counted yet.
      const settling = this.admission.settle(preparsed);
      if (settling === undefined) respond(answer);
      else
        void settling.then((rejection) => {
          respond(rejection ?? answer);
        });
    });
  }

  private reject(error: unknown, request: PreparsedRequest): PipelineResponse {
    const rejection = this.admission.reject(error, request);
    const { headers } = rejection;
    return { ...rejection, headers: completeChallenge(headers, true, this.baseUrl, GRAPHQL_PATH) };
  }

  private isForEndpoint(url: string): boolean {
    if (this.paths.has(url)) return true;
    for (const path of this.paths) if (url.startsWith(`${path}?`)) return true;
    return false;
  }

  /** Whether nothing in the head needs Fastify. */
  private isPlain(request: IncomingMessage): boolean {
    const { headers } = request;
    return this.isAlone && headers.expect === undefined && findFieldProblem(request) === null;
  }

  /** Null if the body has not arrived completely, is too large, or is not UTF-8. */
  private readBody(request: IncomingMessage): string | null {
    const length = Number(request.headers['content-length']);
    if (request.readableLength !== length || length > this.maxBodyBytes) return null;
    const body = request.read() as Buffer | null;
    if (body === null) return null;
    if (isUtf8(body)) return body.toString();
    request.unshift(body);
    return null;
  }
}
