import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import { findFieldProblem } from '../../http/malformed-requests.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import type { HttpAdapter } from '../../http/http-adapter.js';
import { GRAPHQL_PATH, PreparsedRequest, type PipelineResponse } from './pipeline-request.js';
import { LoadShedder, RequestAdmission } from './request-admission.js';
import { MAX_STALENESS } from '../../database/staleness.js';
import { RequestPipeline } from './request-pipeline.js';

/** Called for each response of the fast path, with the arrival time of the request (`performance.now()`). */
export type FastPathObserver = (request: PreparsedRequest, response: ServerResponse, began: number) => void;

/**
 * The fast path: runs the steps up to the response cache before Fastify sees the request, whose part takes as
 * long as all these steps (docs/adr/0017). Fastify continues where the fast path ends.
 */
@Injectable()
export class FastPath {
  observer: FastPathObserver | null = null;
  /** A proxy may keep the path of BASE_URL or remove it. */
  private readonly paths: ReadonlySet<string>;
  private readonly maxBodyBytes: number;
  /** False while traces are on, because they begin in a hook of Fastify. */
  private readonly isAlone: boolean;

  constructor(
    @Inject(CONFIG) { basePath, limits, monitoring }: Config,
    private readonly pipeline: RequestPipeline,
    private readonly admission: RequestAdmission,
    private readonly shedder: LoadShedder,
  ) {
    this.paths = new Set([GRAPHQL_PATH, `${basePath}${GRAPHQL_PATH}`]);
    this.maxBodyBytes = limits.bodyBytes;
    this.isAlone = monitoring.traces === null;
  }

  register(adapter: HttpAdapter): void {
    adapter.fastPath = (request, response, next) => {
      const began = performance.now();
      this.handle(request, next, (preparsed, answer) => {
        adapter.respond(response, preparsed.id, answer, [
          answer.headers,
          ...this.admission.headersOf(preparsed),
        ]);
        this.observer?.(preparsed, response, began);
      });
    };
  }

  /** Responds, or leaves the request to Fastify. */
  handle(
    request: IncomingMessage,
    next: () => void,
    respond: (request: PreparsedRequest, response: PipelineResponse) => void,
  ): void {
    const { url = '', method, headers } = request;
    // Fastify adds the CORS headers.
    if (headers.origin !== undefined || !this.isForEndpoint(url)) next();
    else if (this.shedder.isOverloaded) this.shedLoad(request, next, respond);
    else if (method !== 'POST' || !this.paths.has(url) || !this.isPlain(request)) next();
    else {
      // A body that arrived together with the head is available by then.
      process.nextTick(() => {
        this.runSteps(request, next, respond);
      });
    }
  }

  private shedLoad(
    request: IncomingMessage,
    next: () => void,
    respond: (request: PreparsedRequest, response: PipelineResponse) => void,
  ): void {
    const preparsed = new PreparsedRequest(request);
    const response = this.admission.shedLoad(preparsed);
    if (response === undefined) next();
    else respond(preparsed, response);
  }

  private runSteps(
    request: IncomingMessage,
    next: () => void,
    respond: (request: PreparsedRequest, response: PipelineResponse) => void,
  ): void {
    const principal = this.admission.recall(request);
    const bodyText = principal === null ? null : this.readBody(request);
    if (bodyText === null) {
      next();
      return;
    }
    const preparsed = new PreparsedRequest(request);
    preparsed.principal = principal;
    preparsed.bodyText = bodyText;
    this.pipeline.runFast(preparsed, (error, response) => {
      if (error !== null) respond(preparsed, this.admission.reject(error, preparsed));
      else if (response !== undefined) respond(preparsed, response);
      else {
        request.preparsed = preparsed;
        next();
      }
    });
  }

  private isForEndpoint(url: string): boolean {
    if (this.paths.has(url)) return true;
    for (const path of this.paths) if (url.startsWith(`${path}?`)) return true;
    return false;
  }

  /** Whether no step has to wait, and nothing in the head needs Fastify. */
  private isPlain(request: IncomingMessage): boolean {
    const { headers } = request;
    return (
      this.isAlone &&
      headers.expect === undefined &&
      headers[MAX_STALENESS] === undefined &&
      findFieldProblem(request) === null
    );
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
