import cluster from 'node:cluster';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { collectDefaultMetrics, type Counter, type Histogram, Registry } from 'prom-client';
import { readBuild } from '../../config/build.js';
import { joinMetrics, type MetricFamilies } from './cluster.js';

/** Gauges of the library that are named like counters. Each is the sum of another gauge. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

export type LabelledValue = readonly [labels: Readonly<Record<string, string>>, value: number];

/** Metrics that belong together. */
export interface MetricGroup {
  readonly metrics: readonly (Counter | Histogram)[];
  /** Refreshes what the metrics read. It is called once for each request for metrics. */
  refresh?(): Promise<void>;
}

/**
 * A metric whose numbers are kept elsewhere at negligible cost, and read on request.
 * @param name ends with `_total` for a counter
 * @param read returns one value for each combination of labels, or the only value. Null: the value is unknown (NaN)
 * @param aggregator how the values of several processes become one
 */
export function metric(
  name: string,
  help: string,
  read: () => readonly LabelledValue[] | number | boolean | null,
  aggregator: 'sum' | 'first' | 'min' | 'max' = 'sum',
): Counter {
  const get = () => {
    const found = read();
    const values: readonly LabelledValue[] =
      typeof found === 'object' && found !== null ? found : [[{}, found === null ? NaN : Number(found)]];
    return Promise.resolve({
      name,
      help,
      aggregator,
      type: name.endsWith('_total') ? 'counter' : 'gauge',
      values: values.map(([labels, value]) => ({ labels, value, metricName: name })),
    });
  };
  // What the library reads of its own metrics.
  return { name, get } as unknown as Counter;
}

const BUILD = metric(
  'directory_build_info',
  'Version and commit of the running build',
  () => {
    const { version, commit } = readBuild();
    return [[{ version, commit: commit ?? '' }, 1]];
  },
  'first',
);

/** All metrics of the process, and of the others that serve with it. */
export class MetricsRegistry implements OnApplicationBootstrap {
  private readonly registry = new Registry();
  /** Null: no other process serves requests. */
  private readCluster: (() => Promise<string>) | null = null;

  /** @param serviceName the label `service_name` of all metrics */
  constructor(
    serviceName: string,
    private readonly groups: readonly MetricGroup[],
  ) {
    this.registry.setDefaultLabels({ service_name: serviceName });
    for (const each of [...groups.flatMap((group) => group.metrics), BUILD])
      this.registry.registerMetric(each);
  }

  onApplicationBootstrap(): void {
    collectDefaultMetrics({ register: this.registry });
    for (const name of MISNAMED) this.registry.removeSingleMetric(name);
    if (cluster.isWorker) this.readCluster = joinMetrics(() => this.families());
  }

  /** Returns all metrics in the Prometheus text format, version 0.0.4. */
  async text(): Promise<string> {
    if (this.readCluster !== null) return this.readCluster();
    await this.refresh();
    return this.registry.metrics();
  }

  private async families(): Promise<MetricFamilies> {
    await this.refresh();
    return this.registry.getMetricsAsJSON();
  }

  private async refresh(): Promise<void> {
    await Promise.all(this.groups.map(async (group) => group.refresh?.()));
  }
}
