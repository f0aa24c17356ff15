import { Injectable } from '@nestjs/common';
import { registerBuild } from './build-metric.js';
import { CacheMetrics } from './cache-metrics.js';
import { DatabaseMetrics } from './database-metrics.js';
import type { MetricGroup } from './metric-group.js';
import { METRICS_TYPE } from './metrics-server.js';
import { MirrorMetrics } from './mirror-metrics.js';
import type { PrometheusMetrics } from './registry.js';
import { RequestMetrics } from './request-metrics.js';

/** All metrics of the service. */
@Injectable()
export class MetricsService {
  /** The media type of `text`. */
  readonly contentType = METRICS_TYPE;
  private readonly groups: readonly MetricGroup[];
  private built: Promise<PrometheusMetrics> | null = null;

  constructor(
    requests: RequestMetrics,
    caches: CacheMetrics,
    database: DatabaseMetrics,
    mirror: MirrorMetrics,
  ) {
    this.groups = [requests, caches, database, mirror];
  }

  /**
   * Starts the measurements of Node immediately. Without this call, they start with the first request for
   * metrics.
   */
  async begin(): Promise<void> {
    await this.build();
  }

  /** Returns all metrics in the Prometheus text format. */
  async text(): Promise<string> {
    const metrics = await this.build();
    await Promise.all(this.groups.map(async (group) => group.update()));
    return metrics.text();
  }

  private build(): Promise<PrometheusMetrics> {
    this.built ??= this.make();
    return this.built;
  }

  /** Loads the library on first use, because loading takes a tenth of the start time. */
  private async make(): Promise<PrometheusMetrics> {
    const { PrometheusMetrics: Made } = await import('./registry.js');
    const metrics = new Made();
    for (const group of this.groups) group.register(metrics);
    registerBuild(metrics);
    metrics.measureNode();
    return metrics;
  }
}
