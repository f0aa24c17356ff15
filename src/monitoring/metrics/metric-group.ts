/** Metrics that are updated together when a client requests them. */
export interface MetricGroup {
  /** Registers the metrics. It is called once. */
  register(metrics: Metrics): void;
  update(): void | Promise<void>;
}

export type Labels = Readonly<Record<string, string | number>>;
export type LabelledValue = readonly [labels: Labels, value: number];

/** Registers metrics whose numbers are kept elsewhere at negligible cost and read on request. */
export interface Metrics {
  gauge(name: string, help: string, labelNames?: readonly string[]): GaugeReading;
  /** @param name ends with `_total` */
  counter(name: string, help: string, labelNames?: readonly string[]): CounterReading;
  /** @param read returns the values of every bucket, the sum and the count, each with its name */
  histogram(name: string, help: string, read: () => readonly NamedValue[]): void;
}

export interface NamedValue {
  readonly labels: Labels;
  readonly value: number;
  readonly metricName: string;
}

export interface CounterReading {
  take(values: Iterable<LabelledValue>): void;
}

export interface GaugeReading {
  /** Replaces all values: a label that is missing is removed. */
  take(values: Iterable<LabelledValue>): void;
  /** Sets the only value. Null: the value is unknown, which Prometheus represents as NaN. */
  set(value: number | null): void;
}
