import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';

/** A metric as the service exports it. */
export interface MetricFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** Sorted; null: no value at the moment. */
  readonly labels: readonly string[] | null;
}

/** Names of the series of a histogram or summary. */
const SUFFIX = /_(bucket|sum|count)$/;

/** Parses Prometheus' text format, version 0.0.4. */
export function readFamilies(text: string): MetricFamily[] {
  const samples = readSamples(text);
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)$/gm)].map(
    ([, name = '', help = '', type = '']) => {
      const own = samples.filter(
        (sample) => sample.name === name || sample.name.replace(SUFFIX, '') === name,
      );
      const labels = new Set(own.flatMap((sample) => Object.keys(sample.labels)));
      return { name, type, help, labels: own.length === 0 ? null : [...labels].sort() };
    },
  );
}

/** The metrics of docs/operations.md, without the label that every histogram has. */
export function readMetricsTable(): MetricFamily[] {
  const rows = readFileSync('docs/operations.md', 'utf8').matchAll(
    /^\| `([a-z]\w+)` +\| (\w+) +\| ([^|]*?) +\| (.+?) +\|$/gm,
  );
  return [...rows].map(([, name = '', type = '', labels = '', help = '']) => ({
    name,
    type,
    help,
    labels: [...labels.matchAll(/\w+/g)].map(([label]) => label).sort(),
  }));
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export function readSamples(text: string): Sample[] {
  return [...text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? (\S+)$/gm)].map(
    ([, name = '', labels = '', value = '']) => ({
      name,
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [label, text]),
      ),
      value: Number(value),
    }),
  );
}

/** The metrics that a PromQL expression refers to. */
export interface Asked {
  /** Each with the labels of its selector. */
  readonly metrics: readonly { readonly name: string; readonly labels: readonly string[] }[];
  /** Labels of aggregations. */
  readonly groupedBy: readonly string[];
}

/** @throws Error if it is not an expression */
export function readExpression(expression: string): Asked {
  // Variables of Grafana.
  const text = expression.replaceAll('$__rate_interval', '1m');
  const metrics: { name: string; labels: string[] }[] = [];
  const groupedBy: string[] = [];
  let isGrouping = false;
  parser.parse(text).iterate({
    enter: ({ name, from, to, type }) => {
      if (type.isError) throw new Error(`This is no PromQL, from ${from} on: ${text}`);
      if (name === 'GroupingLabels') isGrouping = true;
      if (name === 'VectorSelector') metrics.push({ name: '', labels: [] });
      const last = metrics.at(-1);
      if (name === 'Identifier' && last?.name === '') last.name = text.slice(from, to);
      if (name === 'LabelName') (isGrouping ? groupedBy : last?.labels)?.push(text.slice(from, to));
    },
    leave: ({ name }) => {
      if (name === 'GroupingLabels') isGrouping = false;
    },
  });
  return { metrics, groupedBy };
}
