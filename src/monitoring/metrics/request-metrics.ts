import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Counter, Histogram } from 'prom-client';
import { ChangeFeed } from '../../changes/change-feed.js';
import { ERROR_CODES } from '../../common/errors.js';
import { errorCounts } from '../../graphql/errors/error-response.js';
import { RateLimiter } from '../../graphql/rate-limit/rate-limiter.js';
import { FailedLogins } from '../../limits/limits.js';
import { metric, type MetricGroup } from './registry.js';

/** Upper bounds of the buckets in seconds, from cached responses up to timeouts. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Label for a path without a route, and for a request without an operation. */
export const NONE = 'none';

/** The cost of an operation in points. Null: it was not charged. */
export function costOf({ rateLimits }: FastifyRequest): number | null {
  return rateLimits?.find(({ cost }) => cost !== null)?.cost ?? null;
}

function counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
  return new Counter({ name, help, labelNames, registers: [] });
}

/** Metrics of requests, their responses and rejections. */
@Injectable()
export class RequestMetrics implements MetricGroup {
  private readonly requests = counter('directory_requests_total', 'Answered requests, by HTTP status', [
    'route',
    'operation',
    'code',
  ]);
  private readonly durations = new Histogram({
    name: 'directory_request_duration_seconds',
    help: 'Seconds from the head of a request to the end of its answer',
    labelNames: ['route', 'operation'],
    buckets: BOUNDS,
    registers: [],
  });
  private readonly points = counter('directory_points_total', 'Cost of operations, in points', ['operation']);
  private readonly statements = counter('directory_statements_total', 'SQL statements of operations', [
    'operation',
  ]);

  readonly metrics: MetricGroup['metrics'] = [
    this.requests,
    this.durations,
    this.points,
    this.statements,
    metric('directory_errors_total', 'Errors in responses of the GraphQL endpoint, by code', () =>
      ERROR_CODES.map((code) => [{ code }, errorCounts.get(code) ?? 0]),
    ),
    metric('directory_rejections_total', 'Rejected requests, by the exceeded limit', () => [
      [{ limit: 'requests' }, this.limiter.rejections.requests],
      [{ limit: 'points' }, this.limiter.rejections.points],
      [{ limit: 'failed_logins' }, this.failedLogins.rejections],
      [{ limit: 'streams' }, this.streams.rejected],
    ]),
  ];

  constructor(
    private readonly limiter: RateLimiter,
    private readonly failedLogins: FailedLogins,
    private readonly streams: ChangeFeed,
  ) {}

  /** @param route a declared one, so that labels have a bounded number of values */
  note(request: FastifyRequest, route: string, status: number, milliseconds: number): void {
    // A root field.
    const operation = request.operation?.field ?? NONE;
    this.requests.inc({ route, operation, code: status });
    this.durations.observe({ route, operation }, milliseconds / 1000);
    if (request.rateLimits === null) return;
    this.points.inc({ operation }, costOf(request) ?? 0);
    this.statements.inc({ operation }, request.statements);
  }
}
