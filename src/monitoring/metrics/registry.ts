import {
  AggregatorRegistry,
  collectDefaultMetrics,
  type Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';
import type { LabelledValue, Metric } from './metric.js';

/** Milliseconds between two measurements of the event loop delay. */
const PRECISION = 20;

/** Gauges of the library that are named like counters. Each is the sum of another gauge. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Metrics in the Prometheus text format. */
export class MetricsRegistry {
  private readonly registry = new Registry();

  /** @param serviceName the label `service_name` of all metrics */
  constructor(metrics: readonly Metric[], serviceName: string) {
    this.registry.setDefaultLabels({ service_name: serviceName });
    for (const metric of metrics) {
      // The metrics of the library would have to observe each value individually, which costs microseconds.
      const family = { name: metric.name, get: () => Promise.resolve(familyOf(metric)) };
      this.registry.registerMetric(family as unknown as Histogram);
    }
  }

  /** Starts the measurements of Node. */
  measureNode(): void {
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: PRECISION });
    for (const name of MISNAMED) this.registry.removeSingleMetric(name);
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }

  async families(): Promise<MetricFamilies> {
    const families = await this.registry.getMetricsAsJSON();
    return families.map((family) => ({ ...family, aggregator: aggregatorOf(family) }));
  }
}

/** Metrics of one process as JSON. */
export type MetricFamilies = readonly MetricObjectWithValues<MetricValue<string>>[];

/** Adds up the metrics of several processes. */
export function aggregate(each: readonly MetricFamilies[]): Registry {
  // What is unknown in one process is known in another one.
  const known = each.map((families) =>
    families.map((family) => ({
      ...family,
      values: family.values.filter(({ value }) => !Number.isNaN(value)),
    })),
  );
  return AggregatorRegistry.aggregate(known);
}

/** Of the metrics of the library: the slowest event loop and the oldest process. */
function aggregatorOf({ name, aggregator }: MetricFamilies[number]): MetricFamilies[number]['aggregator'] {
  if (name === 'process_start_time_seconds') return 'min';
  return aggregator === 'average' ? 'max' : aggregator;
}

function familyOf({ name, help, type, aggregator, read }: Metric) {
  const found = read();
  const values: readonly LabelledValue[] =
    typeof found === 'object' && found !== null ? found : [[{}, found === null ? NaN : Number(found)]];
  return {
    name,
    help,
    aggregator: aggregator ?? 'sum',
    type: type ?? (name.endsWith('_total') ? 'counter' : 'gauge'),
    values: values.map(([labels, value, metricName = name]) => ({ labels, value, metricName })),
  };
}
