// The part of the report about a service whose directory changes.
import { digits, table } from './numbers.mjs';

const MILLISECONDS = (value) => `${digits(value)} ms`;
const MEGABYTES = (value) => `${digits(value)} MB`;

/** @param results see under-load/measure.mjs */
export function describeUnderLoad({ comparison, file, freshness, workers, memory, embedded }) {
  const perSecond = (value) => `${digits(value)} a second`;
  return table(
    ['', 'measured'],
    [
      ['A comparison of all entries takes', `${digits(comparison.seconds)} s`],
      ['Requests meanwhile, 99th percentile', MILLISECONDS(comparison.p99)],
      ['… between comparisons', MILLISECONDS(comparison.p99Between)],
      ['The longest request meanwhile', MILLISECONDS(comparison.longest)],
      ['… between comparisons', MILLISECONDS(comparison.longestBetween)],
      ['The longest request while a changed LDIF file is read', MILLISECONDS(file.longest)],
      ['Its changed record is visible after', MILLISECONDS(file.visible)],
      ['A changed user is visible without load after, median', MILLISECONDS(freshness.idle.p50)],
      ['… 99th percentile', MILLISECONDS(freshness.idle.p99)],
      [`… at ${perSecond(freshness.rate)}, median`, MILLISECONDS(freshness.loaded.p50)],
      ['… 99th percentile', MILLISECONDS(freshness.loaded.p99)],
      ['Q1, cached, by one process', perSecond(workers.one)],
      ['… by a process for each core', perSecond(workers.all)],
      ['Memory of a worker at rest', MEGABYTES(memory)],
      ['Memory of the embedded default at rest', MEGABYTES(embedded.now)],
      ['… at most, while it starts', MEGABYTES(embedded.max)],
    ],
  );
}
