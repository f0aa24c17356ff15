import { readBuild } from '../../config/build.js';

type Labels = Readonly<Record<string, string | number>>;
/** A value and its labels. In a histogram each value has a name of its own. */
export type LabelledValue = readonly [labels: Labels, value: number, name?: string];

/** A metric whose numbers are kept elsewhere at negligible cost, and read on request. */
export interface Metric {
  /** Ends with `_total` for a counter. */
  readonly name: string;
  readonly help: string;
  /** Default: a counter or a gauge. A histogram has the values of every bucket, the sum and the count. */
  readonly type?: 'histogram';
  /** How the values of several processes become one. Default: their sum. */
  readonly aggregator?: 'first' | 'min' | 'max';
  /** Returns one value for each combination of labels, or the only value. Null: the value is unknown (NaN). */
  readonly read: () => readonly LabelledValue[] | number | boolean | null;
}

/** Metrics that belong together. */
export interface MetricGroup {
  readonly metrics: readonly Metric[];
  /** Refreshes what the metrics read. It is called once for each request for metrics. */
  refresh?(): Promise<void>;
}

/** The version of the build. */
export const BUILD_METRIC: Metric = {
  name: 'directory_build_info',
  help: 'Version and commit of the running build',
  aggregator: 'first',
  read: () => {
    const { version, commit } = readBuild();
    return [[{ version, commit: commit ?? '' }, 1]];
  },
};
