import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { BUILD_METRIC, type MetricGroup } from './metric.js';
import type { MetricFamilies, MetricsRegistry } from './registry.js';

/** Injection token of OtherProcesses; null if one process serves requests. */
export const OTHER_PROCESSES = Symbol('OTHER_PROCESSES');

/** What the other processes that serve requests have measured, to be added to what this one has. */
export interface OtherProcesses {
  /** @param own what this one has measured, which is kept if this process is killed */
  readMetrics(own: MetricFamilies): Promise<readonly MetricFamilies[]>;
}

/** Injection token of the groups of metrics. */
export const METRIC_GROUPS = Symbol('METRIC_GROUPS');

@Injectable()
export class MetricsService {
  private registry: Promise<MetricsRegistry> | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(METRIC_GROUPS) private readonly groups: readonly MetricGroup[],
    @Inject(OTHER_PROCESSES) private readonly others: OtherProcesses | null,
  ) {}

  /** Starts the measurements of Node. Without this call, they start with the first request for metrics. */
  begin(): Promise<MetricsRegistry> {
    this.registry ??= this.build();
    return this.registry;
  }

  /** Returns all metrics in the Prometheus text format. */
  async text(): Promise<string> {
    const registry = await this.begin();
    await this.refresh();
    const { others } = this;
    return registry.text(others === null ? null : (own) => others.readMetrics(own));
  }

  /** Returns the metrics of this process for another one. */
  async families(): Promise<MetricFamilies> {
    const registry = await this.begin();
    await this.refresh();
    return registry.families();
  }

  /** The same without a statement, when the database is closed. Null: nothing has read metrics yet. */
  async lastFamilies(): Promise<MetricFamilies | null> {
    return (await this.registry)?.families() ?? null;
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
