import { Injectable } from '@nestjs/common';
import { StreamAdmission } from '../../changes/stream/stream-admission.js';
import { ERROR_CODES } from '../../common/errors.js';
import { errorCounts } from '../../graphql/errors/error-response.js';
import { GRAPHQL_PATH } from '../../graphql/http/request-state.js';
import { LoadShedder } from '../../graphql/http/load-shedder.js';
import { RateLimiter } from '../../graphql/rate-limit/rate-limiter.js';
import { FailedLogins } from '../../limits/limits.js';
import type { MetricGroup } from './registry.js';
import { Counter, Histogram } from 'prom-client';
import type { PrincipalKind } from '../../auth/principal.js';

/** Upper bounds of the buckets in seconds, from cached responses up to timeouts. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Kind of the principal of an operation. NONE: there is no token. */
type PrincipalLabel = PrincipalKind | 'NONE';

/** A request whose labels have a bounded number of values. */
interface CountedRequest {
  /** A declared route. */
  readonly route: string;
  /** A root field. */
  readonly operation: string;
  readonly status: number;
  readonly milliseconds: number;
  /** Null: it is no request to the GraphQL endpoint, or was rejected before. */
  readonly principal: PrincipalLabel | null;
  readonly points: number;
  readonly statements: number;
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
  private readonly principals = counter(
    'directory_principals_total',
    'Requests to the GraphQL endpoint, by kind of token; NONE: without a token',
    ['kind'],
  );
  private readonly points = counter('directory_points_total', 'Cost of operations, in points', ['operation']);
  private readonly statements = counter('directory_statements_total', 'SQL statements of operations', [
    'operation',
  ]);

  readonly metrics: MetricGroup['metrics'] = [
    this.requests,
    this.durations,
    this.principals,
    this.points,
    this.statements,
    {
      name: 'directory_errors_total',
      help: 'Errors in responses of the GraphQL endpoint, by code',
      read: () => ERROR_CODES.map((code) => [{ code }, errorCounts.get(code) ?? 0]),
    },
    {
      name: 'directory_rejections_total',
      help: 'Rejected requests, by the exceeded limit',
      read: () => [
        [{ limit: 'requests' }, this.limiter.rejections.requests],
        [{ limit: 'points' }, this.limiter.rejections.points],
        [{ limit: 'failed_logins' }, this.failedLogins.rejections],
        [{ limit: 'load' }, this.shedder.state.rejected],
        [{ limit: 'streams' }, this.streams.rejected],
      ],
    },
    {
      name: 'directory_operations',
      help: 'Operations in progress',
      read: () => this.shedder.state.underWay,
    },
    {
      name: 'directory_operations_limit',
      help: 'Current maximum number of operations in progress; further ones are rejected',
      read: () => this.shedder.state.limit,
    },
    {
      name: 'directory_streams',
      help: 'Open streams of changes',
      read: () => this.streams.open,
    },
  ];

  constructor(
    private readonly limiter: RateLimiter,
    private readonly failedLogins: FailedLogins,
    private readonly shedder: LoadShedder,
    private readonly streams: StreamAdmission,
  ) {}

  note({ route, operation, status, milliseconds, principal, points, statements }: CountedRequest): void {
    this.requests.inc({ route, operation, code: status });
    this.durations.observe({ route, operation }, milliseconds / 1000);
    if (principal !== null) this.principals.inc({ kind: principal });
    if (route !== GRAPHQL_PATH) return;
    this.points.inc({ operation }, points);
    this.statements.inc({ operation }, statements);
  }
}

function counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
  return new Counter({ name, help, labelNames, registers: [] });
}
