import { BUILD_METRIC } from '../monitoring/metrics/metric.js';
import { DATABASE_UP_METRIC } from '../monitoring/metrics/mirror-metrics.js';

/** Returns the metrics while the start waits for the database: the process runs, and the database is unavailable. */
export async function readStartupMetrics(): Promise<string> {
  const { MetricsRegistry } = await import('../monitoring/metrics/registry.js');
  return new MetricsRegistry([DATABASE_UP_METRIC, BUILD_METRIC]).text();
}
