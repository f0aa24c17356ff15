import { collectDefaultMetrics, type Histogram, Registry } from 'prom-client';
import type { LabelledValue, Metric } from './metric.js';

/** Milliseconds between two measurements of the event loop delay. */
const PRECISION = 20;

/** Metrics in the Prometheus text format. */
export class MetricsRegistry {
  private readonly registry = new Registry();

  constructor(metrics: readonly Metric[]) {
    for (const metric of metrics) {
      // The metrics of the library would have to observe each value individually, which costs microseconds.
      const family = { name: metric.name, get: () => Promise.resolve(familyOf(metric)) };
      this.registry.registerMetric(family as unknown as Histogram);
    }
  }

  /** Starts the measurements of Node. */
  measureNode(): void {
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: PRECISION });
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}

function familyOf({ name, help, type, read }: Metric) {
  const found = read();
  const values: readonly LabelledValue[] =
    typeof found === 'object' && found !== null ? found : [[{}, found === null ? NaN : Number(found)]];
  return {
    name,
    help,
    type: type ?? (name.endsWith('_total') ? 'counter' : 'gauge'),
    values: values.map(([labels, value, metricName = name]) => ({ labels, value, metricName })),
  };
}
