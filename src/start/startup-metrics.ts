import type { Server } from 'node:http';
import type { Config } from '../config/config.js';
import { BUILD_METRIC } from '../monitoring/metrics/metric.js';
import { closeMetricsServer, openMetricsServer } from '../monitoring/metrics/metrics-server.js';
import { DATABASE_UP_METRIC } from '../monitoring/metrics/mirror-metrics.js';

/**
 * Serves metrics on their separate port while the start waits for the database. They report that the process
 * runs and the database is unavailable.
 */
export class WaitingMetrics {
  private server: Server | null = null;

  constructor(private readonly config: Config) {}

  /**
   * Opens the port once, if one is configured.
   * @throws Error of the system when the port cannot be opened
   */
  async open(): Promise<void> {
    const { metrics } = this.config.monitoring;
    if (metrics?.kind !== 'apart' || this.server !== null) return;
    const { MetricsRegistry } = await import('../monitoring/metrics/registry.js');
    const registry = new MetricsRegistry([DATABASE_UP_METRIC, BUILD_METRIC]);
    this.server = await openMetricsServer(metrics, () => registry.text());
  }

  async close(): Promise<void> {
    if (this.server !== null) await closeMetricsServer(this.server);
    this.server = null;
  }
}
