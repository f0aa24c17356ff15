import cluster from 'node:cluster';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { BUILD_METRIC, type MetricGroup } from './metric.js';
import type { ClusterMetrics } from './cluster-metrics.js';
import type { MetricFamilies, MetricsRegistry } from './registry.js';

/** Injection token of the groups of metrics. */
export const METRIC_GROUPS = Symbol('METRIC_GROUPS');

@Injectable()
export class MetricsService implements OnApplicationBootstrap {
  private registry: Promise<MetricsRegistry> | null = null;
  /** Null: no other process serves requests. */
  private ofCluster: ClusterMetrics | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(METRIC_GROUPS) private readonly groups: readonly MetricGroup[],
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (!cluster.isWorker) return;
    const { ClusterMetrics } = await import('./cluster-metrics.js');
    this.ofCluster = new ClusterMetrics(() => this.families());
  }

  /** Starts the measurements of Node. Without this call, they start with the first request for metrics. */
  begin(): Promise<MetricsRegistry> {
    this.registry ??= this.build();
    return this.registry;
  }

  /** Returns all metrics in the Prometheus text format. */
  async text(): Promise<string> {
    if (this.ofCluster !== null) return this.ofCluster.readAll();
    const registry = await this.begin();
    await this.refresh();
    return registry.text();
  }

  private async families(): Promise<MetricFamilies> {
    const registry = await this.begin();
    await this.refresh();
    return registry.families();
  }

  private async refresh(): Promise<void> {
    await Promise.all(this.groups.map(async (group) => group.refresh?.()));
  }

  /** Loads the library on first use, because loading takes a tenth of the start time. */
  private async build(): Promise<MetricsRegistry> {
    const { MetricsRegistry } = await import('./registry.js');
    const metrics = [...this.groups.flatMap((group) => group.metrics), BUILD_METRIC];
    const registry = new MetricsRegistry(metrics, this.config.monitoring.serviceName);
    registry.measureNode();
    return registry;
  }
}
