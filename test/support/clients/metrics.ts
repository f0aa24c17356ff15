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
