import { performance } from 'node:perf_hooks';

/** Runs one step, and prints its name and duration. */
export async function runStep(label, work) {
  const startedAt = performance.now();
  const result = await work();
  console.log(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(7)} s  ${label}`);
  return result;
}
