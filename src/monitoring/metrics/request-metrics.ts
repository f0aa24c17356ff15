import { Injectable } from '@nestjs/common';
import { StreamAdmission } from '../../changes/stream/stream-admission.js';
import { ERROR_CODES } from '../../common/errors.js';
import { errorCounts } from '../../graphql/errors/error-response.js';
import { GRAPHQL_PATH } from '../../graphql/http/request-state.js';
import { LoadShedder } from '../../graphql/http/load-shedder.js';
import { RateLimiter } from '../../graphql/rate-limit/rate-limiter.js';
import { FailedLogins } from '../../limits/failed-logins.js';
import type { LabelledValue, Metric, MetricGroup } from './metric.js';
import type { PrincipalKind } from '../../auth/principal.js';

/** Upper bounds of the buckets in seconds, from cached responses up to timeouts. */
const BOUNDS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface RequestCount {
  readonly route: string;
  readonly operation: string;
  /** Number of requests by HTTP status. */
  readonly codes: Map<number, number>;
  /** Requests above the previous bound and up to the own one. The last bucket counts those above all BOUNDS. */
  readonly buckets: number[];
  seconds: number;
  points: number;
  statements: number;
}

/** Kind of the principal of an operation. NONE: there is no token. */
type PrincipalLabel = PrincipalKind | 'NONE';

/** Counts requests since the start. Counting one costs a fraction of a microsecond and allocates nothing. */
export class RequestCounts {
  /** Number of operations by the kind of their token. */
  readonly byPrincipal = new Map<PrincipalLabel, number>();
  private readonly byRoute = new Map<string, Map<string, RequestCount>>();

  /**
   * @param route a declared route, so that the number of routes is bounded
   * @param operation a known operation, so that the number of operations is bounded
   */
  of(route: string, operation: string): RequestCount {
    return this.byRoute.get(route)?.get(operation) ?? this.begin(route, operation);
  }

  addOperation(principal: PrincipalLabel): void {
    this.byPrincipal.set(principal, (this.byPrincipal.get(principal) ?? 0) + 1);
  }

  get all(): RequestCount[] {
    return [...this.byRoute.values()].flatMap((counts) => [...counts.values()]);
  }

  private begin(route: string, operation: string): RequestCount {
    let counts = this.byRoute.get(route);
    if (counts === undefined) {
      counts = new Map();
      this.byRoute.set(route, counts);
    }
    const count = {
      route,
      operation,
      codes: new Map<number, number>(),
      buckets: Array.from({ length: BOUNDS.length + 1 }, () => 0),
      seconds: 0,
      points: 0,
      statements: 0,
    };
    counts.set(operation, count);
    return count;
  }
}

export function addRequest(count: RequestCount, code: number, seconds: number): void {
  count.codes.set(code, (count.codes.get(code) ?? 0) + 1);
  count.seconds += seconds;
  let bucket = 0;
  while (seconds > (BOUNDS[bucket] ?? Infinity)) bucket++;
  count.buckets[bucket] = (count.buckets[bucket] ?? 0) + 1;
}

const DURATION = 'directory_request_duration_seconds';

/** Metrics of requests, their responses and rejections. */
@Injectable()
export class RequestMetrics implements MetricGroup {
  readonly metrics: readonly Metric[] = [
    {
      name: 'directory_requests_total',
      help: 'Answered requests, by HTTP status',
      read: () =>
        this.counts.all.flatMap(({ route, operation, codes }) =>
          [...codes].map(([code, count]): LabelledValue => [{ route, operation, code }, count]),
        ),
    },
    {
      name: DURATION,
      help: 'Seconds from the head of a request to the end of its answer',
      type: 'histogram',
      read: () => this.counts.all.flatMap(valuesOf),
    },
    {
      name: 'directory_principals_total',
      help: 'Requests to the GraphQL endpoint, by kind of token; NONE: without a token',
      read: () => [...this.counts.byPrincipal].map(([kind, count]) => [{ kind }, count]),
    },
    {
      name: 'directory_points_total',
      help: 'Cost of operations, in points',
      read: () => this.operations.map(({ operation, points }) => [{ operation }, points]),
    },
    {
      name: 'directory_statements_total',
      help: 'SQL statements of operations',
      read: () => this.operations.map(({ operation, statements }) => [{ operation }, statements]),
    },
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
    private readonly counts: RequestCounts,
    private readonly limiter: RateLimiter,
    private readonly failedLogins: FailedLogins,
    private readonly shedder: LoadShedder,
    private readonly streams: StreamAdmission,
  ) {}

  private get operations(): RequestCount[] {
    return this.counts.all.filter(({ route }) => route === GRAPHQL_PATH);
  }
}

/** Makes buckets cumulative: each bucket includes the counts of all lower ones. */
function valuesOf({ route, operation, buckets, seconds }: RequestCount): LabelledValue[] {
  let sum = 0;
  const values = buckets.map((own, index): LabelledValue => {
    sum += own;
    return [{ route, operation, le: BOUNDS[index] ?? '+Inf' }, sum, `${DURATION}_bucket`];
  });
  return [
    ...values,
    [{ route, operation }, seconds, `${DURATION}_sum`],
    [{ route, operation }, sum, `${DURATION}_count`],
  ];
}
