/** Metrics that are brought up to date together, when somebody asks for them. */
export interface MetricGroup {
  /** Makes them, once. */
  register(metrics: Metrics): void;
  update(): void | Promise<void>;
}

export type Labels = Readonly<Record<string, string | number>>;
export type LabelledValue = readonly [labels: Labels, value: number];

/** Makes metrics whose numbers are kept elsewhere, where it costs next to nothing, and read when they are asked for. */
export interface Metrics {
  gauge(name: string, help: string, labelNames?: readonly string[]): GaugeReading;
  /** @param name ends with `_total` */
  counter(name: string, help: string, labelNames?: readonly string[]): CounterReading;
  /** @param read gives the values of every bucket, sum and count, with the name that each has */
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
  /** All of its values: what is not among them is not there any more. */
  take(values: Iterable<LabelledValue>): void;
  /** Its only value; null: it cannot be told, which Prometheus spells NaN. */
  set(value: number | null): void;
}
