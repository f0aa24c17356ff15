import { processorWait } from './processor-wait.mjs';

/**
 * Milliseconds from now on, without those for which this process, or another that takes part, has waited for a processor:
 * what a bound is about, on a machine that does other things as well.
 * @param others their ids
 */
export function startClock(...others: readonly number[]): () => number {
  const read = () =>
    others.reduce((time, id) => time - processorWait(id), performance.now() - processorWait());
  const begun = read();
  return () => Math.max(0, read() - begun);
}
