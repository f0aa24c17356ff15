import { Injectable } from '@nestjs/common';
import { CacheMetrics, DatabaseMetrics } from './resource-metrics.js';
import { BUILD_METRIC, type MetricGroup } from './metric.js';
import { MirrorMetrics } from './mirror-metrics.js';
import type { MetricsRegistry } from './registry.js';
import { RequestMetrics } from './request-metrics.js';

@Injectable()
export class MetricsService {
  private readonly groups: readonly MetricGroup[];
  private registry: Promise<MetricsRegistry> | null = null;

  constructor(
    requests: RequestMetrics,
    caches: CacheMetrics,
    database: DatabaseMetrics,
    mirror: MirrorMetrics,
  ) {
    this.groups = [requests, caches, database, mirror, { metrics: [BUILD_METRIC] }];
  }

  /** Starts the measurements of Node. Without this call, they start with the first request for metrics. */
  begin(): Promise<MetricsRegistry> {
    this.registry ??= this.build();
    return this.registry;
  }

  /** Returns all metrics in the Prometheus text format. */
  async text(): Promise<string> {
    const registry = await this.begin();
    await Promise.all(this.groups.map(async (group) => group.refresh?.()));
    return registry.text();
  }

  /** Loads the library on first use, because loading takes a tenth of the start time. */
  private async build(): Promise<MetricsRegistry> {
    const { MetricsRegistry } = await import('./registry.js');
    const registry = new MetricsRegistry(this.groups.flatMap(({ metrics }) => metrics));
    registry.measureNode();
    return registry;
  }
}
