import cluster from 'node:cluster';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { collectDefaultMetrics, type Counter, type Histogram, Registry } from 'prom-client';
import { readBuild } from '../../config/build.js';
import { ClusterMetrics, type MetricFamilies } from './cluster-metrics.js';

/** Milliseconds between two measurements of the event loop delay. */
const PRECISION = 20;

/** Gauges of the library that are named like counters. Each is the sum of another gauge. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

type Labels = Readonly<Record<string, string | number>>;
export type LabelledValue = readonly [labels: Labels, value: number];

/** A metric whose numbers are kept elsewhere at negligible cost, and read on request. */
export interface Metric {
  /** Ends with `_total` for a counter. */
  readonly name: string;
  readonly help: string;
  /** How the values of several processes become one. Default: their sum. */
  readonly aggregator?: 'first' | 'min' | 'max';
  /** Returns one value for each combination of labels, or the only value. Null: the value is unknown (NaN). */
  readonly read: () => readonly LabelledValue[] | number | boolean | null;
}

/** Metrics that belong together. */
export interface MetricGroup {
  readonly metrics: readonly (Metric | Counter | Histogram)[];
  /** Refreshes what the metrics read. It is called once for each request for metrics. */
  refresh?(): Promise<void>;
}

/** The version of the build. */
const BUILD_METRIC: Metric = {
  name: 'directory_build_info',
  help: 'Version and commit of the running build',
  aggregator: 'first',
  read: () => {
    const { version, commit } = readBuild();
    return [[{ version, commit: commit ?? '' }, 1]];
  },
};

/** All metrics of the process, and of the others that serve with it. */
export class MetricsRegistry implements OnApplicationBootstrap {
  private readonly registry = new Registry();
  private isMeasured = false;
  /** Null: no other process serves requests. */
  private ofCluster: ClusterMetrics | null = null;

  /** @param serviceName the label `service_name` of all metrics */
  constructor(
    serviceName: string,
    private readonly groups: readonly MetricGroup[],
  ) {
    this.registry.setDefaultLabels({ service_name: serviceName });
    for (const metric of [...groups.flatMap((group) => group.metrics), BUILD_METRIC])
      this.registry.registerMetric('read' in metric ? registrable(metric) : metric);
  }

  onApplicationBootstrap(): void {
    if (cluster.isWorker) this.ofCluster = new ClusterMetrics(() => this.families());
  }

  /** Returns all metrics in the Prometheus text format, version 0.0.4. */
  async text(): Promise<string> {
    if (this.ofCluster !== null) return this.ofCluster.readAll();
    await this.refresh();
    return this.registry.metrics();
  }

  private async families(): Promise<MetricFamilies> {
    await this.refresh();
    const families = await this.registry.getMetricsAsJSON();
    return families.map((family) => ({ ...family, aggregator: aggregatorOf(family) }));
  }

  /** The first request starts the measurements of Node. */
  private async refresh(): Promise<void> {
    if (!this.isMeasured) {
      this.isMeasured = true;
      collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: PRECISION });
      for (const name of MISNAMED) this.registry.removeSingleMetric(name);
    }
    await Promise.all(this.groups.map(async (group) => group.refresh?.()));
  }
}

/** Of the metrics of the library: the slowest event loop and the oldest process. */
function aggregatorOf({ name, aggregator }: MetricFamilies[number]): MetricFamilies[number]['aggregator'] {
  if (name === 'process_start_time_seconds') return 'min';
  return aggregator === 'average' ? 'max' : aggregator;
}

/** Gives a metric what the library reads of its own ones. */
function registrable({ name, help, aggregator, read }: Metric): Counter {
  const get = () => {
    const found = read();
    const values: readonly LabelledValue[] =
      typeof found === 'object' && found !== null ? found : [[{}, found === null ? NaN : Number(found)]];
    return Promise.resolve({
      name,
      help,
      aggregator: aggregator ?? 'sum',
      type: name.endsWith('_total') ? 'counter' : 'gauge',
      values: values.map(([labels, value]) => ({ labels, value, metricName: name })),
    });
  };
  return { name, get } as unknown as Counter;
}
