import { Inject, Injectable, Optional } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { GRAPHQL_PATH, isEndpoint } from '../graphql/http/request-context.js';
import { createLog } from './log.js';
import { costOf, NONE, RequestMetrics } from './metrics/request-metrics.js';

/** The header `traceparent` of W3C Trace Context, version 00. */
const TRACE_ID = /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;
/** The client closed the connection before the response. nginx logs this code too; no client receives it. */
const CLIENT_CLOSED_REQUEST = 499;

/** Counts every request and logs a line for it when the whole response has been sent or the connection is closed (docs/monitoring.md). */
@Injectable()
export class RequestWatch {
  /** Null if requests are not logged. */
  private readonly lines: Logger | null;
  private readonly isDetailed: boolean;

  constructor(
    @Inject(CONFIG) config: Config,
    @Optional() @Inject(RequestMetrics) private readonly metrics: RequestMetrics | null,
  ) {
    const log = createLog(config);
    this.lines = config.monitoring.requestLines && log.isLevelEnabled('info') ? log : null;
    this.isDetailed = log.isLevelEnabled('debug');
  }

  register(fastify: FastifyInstance): void {
    if (this.lines === null && this.metrics === null) return;
    fastify.addHook('onRequest', (request, reply, done) => {
      // After every response, and without one if the client is gone.
      reply.raw.on('close', () => {
        const status = reply.raw.writableFinished ? reply.statusCode : CLIENT_CLOSED_REQUEST;
        const route = routeOf(request);
        const milliseconds = reply.elapsedTime;
        this.metrics?.note(request, route, status, milliseconds);
        this.lines?.info(lineOf(request, route, status, milliseconds, this.isDetailed), 'request');
      });
      done();
    });
  }
}

/** The declared route, because the actual path may contain any value. */
function routeOf(request: FastifyRequest): string {
  if (isEndpoint(request)) return GRAPHQL_PATH;
  return request.is404 ? NONE : (request.routeOptions.url ?? NONE);
}

/** What the line of a request names (docs/monitoring.md). Pino omits what is undefined. */
function lineOf(
  request: FastifyRequest,
  route: string,
  status: number,
  milliseconds: number,
  isDetailed: boolean,
): object {
  const { id: requestId, method, operation: label, principal, rateLimits, statements } = request;
  const ofOperation = <Value>(value: Value) => (rateLimits === null ? undefined : value);
  return {
    requestId,
    method: isDetailed ? method : undefined,
    route,
    status,
    milliseconds: Math.round(milliseconds * 1000) / 1000,
    operation: ofOperation(label?.name ?? null),
    field: isDetailed ? ofOperation(label?.field ?? null) : undefined,
    principal: ofOperation(principal?.kind ?? null),
    cost: ofOperation(costOf(request)),
    statements: isDetailed ? ofOperation(statements) : undefined,
    traceId: TRACE_ID.exec(String(request.headers['traceparent']))?.[1],
  };
}
