import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  type Histogram,
  type MetricObjectWithValues,
  type MetricValueWithName,
  Registry,
} from 'prom-client';
import type { CounterReading, GaugeReading, LabelledValue, Metrics, NamedValue } from './metric-group.js';

/** Milliseconds between two measurements of the event loop delay. */
const PRECISION = 20;

/** Metrics in the format of prom-client. */
export class PrometheusMetrics implements Metrics {
  private readonly registry = new Registry();

  gauge(name: string, help: string, labelNames: readonly string[] = []): GaugeReading {
    const gauge = new Gauge({ name, help, labelNames: [...labelNames], registers: [this.registry] });
    return {
      take: (values) => {
        gauge.reset();
        for (const [labels, value] of values) gauge.set(labels, value);
      },
      set: (value) => {
        gauge.set(value ?? NaN);
      },
    };
  }

  counter(name: string, help: string, labelNames: readonly string[] = []): CounterReading {
    const counter = new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
    return {
      take: (values: Iterable<LabelledValue>) => {
        counter.reset();
        for (const [labels, value] of values) counter.inc(labels, value);
      },
    };
  }

  histogram(name: string, help: string, read: () => readonly NamedValue[]): void {
    const family = (): MetricObjectWithValues<MetricValueWithName<string>> =>
      ({ name, help, type: 'histogram', aggregator: 'sum', values: read() }) as never;
    // The library's own histogram has to observe each value individually, which costs microseconds.
    this.registry.registerMetric({ name, get: () => Promise.resolve(family()) } as unknown as Histogram);
  }

  /** Starts the measurements of Node. */
  measureNode(): void {
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: PRECISION });
  }

  /** Returns all metrics in the Prometheus text format. */
  text(): Promise<string> {
    return this.registry.metrics();
  }
}
