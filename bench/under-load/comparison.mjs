// How long requests take while the mirror is compared with the whole directory.
import { median } from '../measure/statistics.mjs';
import { longestOf, p99Of, runSlices, splitSlices } from './slices.mjs';

/** A comparison of all attributes begins this long after the last one. */
export const COMPARISON_SECONDS = 15;
const COMPARISONS = 3;

const LAST = `
  select extract(epoch from finished_at) * 1000 as until, seconds * 1000 as took from reconciliations where kind = 'contents'`;

export async function measureComparison(run, connection) {
  const periods = new Map();
  const slices = await runSlices(run, async () => {
    const { rows } = await connection.query(LAST);
    for (const { until, took } of rows)
      periods.set(Number(until), { from: until - took, until: Number(until) });
    // The first one can have begun before the first slice.
    return periods.size > COMPARISONS;
  });
  const { during, between } = splitSlices(slices, [...periods.values()]);
  return {
    longest: longestOf(during),
    longestBetween: longestOf(between),
    p99: p99Of(during),
    p99Between: p99Of(between),
    seconds: median([...periods.values()].map(({ from, until }) => (until - from) / 1000)),
  };
}
