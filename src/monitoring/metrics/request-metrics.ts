import { Injectable } from '@nestjs/common';
import { ERROR_CODES } from '../../common/errors.js';
import { errorCounts, GRAPHQL_PATH } from '../../graphql/errors/error-response.js';
import { LoadShedder } from '../../graphql/rate-limit/load-shedder.js';
import { RateLimiter } from '../../graphql/rate-limit/rate-limiter.js';
import { FailedLogins } from '../../limits/failed-logins.js';
import type {
  CounterReading,
  GaugeReading,
  LabelledValue,
  MetricGroup,
  Metrics,
  NamedValue,
} from './metric-group.js';
import { BOUNDS, type RequestCount, RequestCounts } from './request-counts.js';

const DURATION = 'directory_request_duration_seconds';
const KIND = ['route', 'operation'];

/** Metrics of requests, their responses and rejections. */
@Injectable()
export class RequestMetrics implements MetricGroup {
  private requests!: CounterReading;
  private principals!: CounterReading;
  private points!: CounterReading;
  private statements!: CounterReading;
  private errors!: CounterReading;
  private refusals!: CounterReading;
  private underWay!: GaugeReading;
  private mostUnderWay!: GaugeReading;

  constructor(
    private readonly counts: RequestCounts,
    private readonly limiter: RateLimiter,
    private readonly failedLogins: FailedLogins,
    private readonly shedder: LoadShedder,
  ) {}

  register(metrics: Metrics): void {
    this.requests = metrics.counter(
      'directory_requests_total',
      'Requests that were answered, by HTTP status',
      [...KIND, 'code'],
    );
    metrics.histogram(DURATION, 'Seconds from the head of a request to the end of its answer', () =>
      this.counts.all.flatMap(valuesOf),
    );
    this.principals = metrics.counter(
      'directory_principals_total',
      'Requests to the GraphQL endpoint, by the kind of token that came with them; NONE: without one',
      ['kind'],
    );
    this.points = metrics.counter('directory_points_total', 'Points that operations have cost', [
      'operation',
    ]);
    this.statements = metrics.counter('directory_statements_total', 'Statements that operations have sent', [
      'operation',
    ]);
    this.errors = metrics.counter(
      'directory_errors_total',
      'Errors that clients of the GraphQL endpoint were told, by code',
      ['code'],
    );
    this.refusals = metrics.counter(
      'directory_refusals_total',
      'Requests that were refused because they were too many, by what they were too many for',
      ['limit'],
    );
    this.underWay = metrics.gauge('directory_operations', 'Operations under way');
    this.mostUnderWay = metrics.gauge(
      'directory_operations_limit',
      'Operations that may be under way at the moment; more are refused',
    );
  }

  update(): void {
    const { all } = this.counts;
    this.requests.take(
      all.flatMap(({ route, operation, codes }) =>
        [...codes].map(([code, count]): LabelledValue => [{ route, operation, code }, count]),
      ),
    );
    this.principals.take(
      [...this.counts.byPrincipal].map(([kind, count]): LabelledValue => [{ kind }, count]),
    );
    const operations = all.filter(({ route }) => route === GRAPHQL_PATH);
    this.points.take(operations.map(({ operation, points }) => [{ operation }, points]));
    this.statements.take(operations.map(({ operation, statements }) => [{ operation }, statements]));
    this.errors.take(ERROR_CODES.map((code) => [{ code }, errorCounts.get(code) ?? 0]));
    const { underWay, limit, rejected } = this.shedder.state;
    const { requests, points } = this.limiter.refusals;
    this.refusals.take([
      [{ limit: 'requests' }, requests],
      [{ limit: 'points' }, points],
      [{ limit: 'failed_logins' }, this.failedLogins.rejections],
      [{ limit: 'load' }, rejected],
    ]);
    this.underWay.set(underWay);
    this.mostUnderWay.set(limit);
  }
}

function kindOf({ route, operation }: RequestCount): Record<string, string> {
  return { route, operation };
}

/** Makes buckets cumulative: each bucket includes the counts of all lower ones. */
function valuesOf(count: RequestCount): NamedValue[] {
  let sum = 0;
  const buckets = count.buckets.map((own, index) => {
    sum += own;
    const labels = { ...kindOf(count), le: BOUNDS[index] ?? '+Inf' };
    return { labels, value: sum, metricName: `${DURATION}_bucket` };
  });
  return [
    ...buckets,
    { labels: kindOf(count), value: count.seconds, metricName: `${DURATION}_sum` },
    { labels: kindOf(count), value: sum, metricName: `${DURATION}_count` },
  ];
}
