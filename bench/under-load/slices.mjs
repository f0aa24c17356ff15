// Requests at a fixed rate, in slices of time, of which each is assigned to what the service did meanwhile.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../measure/statistics.mjs';
import { CONNECTIONS } from '../options.mjs';

/** Requests per second: far below what the machine can answer, so that only a stall makes them wait. */
const RATE = 100;
const SECONDS = 0.5;
const WARM_UP_SECONDS = 3;

/** @typedef {{ from: number, until: number, p50: number, p99: number, longest: number }} Slice from and until: Date.now() */

/** Runs slices until a function returns true. @returns {Promise<Slice[]>} */
export async function runSlices(run, isOver) {
  await run({ seconds: WARM_UP_SECONDS, connections: CONNECTIONS, rate: null });
  const slices = [];
  while (!(await isOver(slices))) {
    const from = Date.now();
    const { p50, p99, longest } = await run({ seconds: SECONDS, connections: CONNECTIONS, rate: RATE });
    slices.push({ from, until: Date.now(), p50, p99, longest });
  }
  return slices;
}

/** @param periods {{ from: number, until: number }[]} @returns the slices that overlap a period, and the others */
export function splitSlices(slices, periods) {
  const overlaps = (slice) => periods.some(({ from, until }) => slice.from < until && slice.until > from);
  return { during: slices.filter(overlaps), between: slices.filter((slice) => !overlaps(slice)) };
}

/** The median of the 99th percentiles of slices. */
export const p99Of = (slices) => median(slices.map(({ p99 }) => p99));

export const longestOf = (slices) => Math.max(...slices.map(({ longest }) => longest));

/** Milliseconds until a function returns true. */
export async function timeUntil(isTrue) {
  const startedAt = performance.now();
  while (!(await isTrue())) await sleep(5);
  return performance.now() - startedAt;
}
