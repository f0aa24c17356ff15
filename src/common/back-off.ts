const FIRST_MILLISECONDS = 500;
const LONGEST_MILLISECONDS = 30_000;

/**
 * How long to wait before trying again: anything up to half a second after the first failure, up to twice that
 * after each further one, up to half a minute at most. Spread over the whole span («full jitter»), so that many who
 * lost the same server do not come back at once.
 *
 * @param attempt failures so far, counted from 1
 * @param random a number from 0 up to 1
 * @returns milliseconds
 */
export function backOff(attempt: number, random: number): number {
  const span = Math.min(FIRST_MILLISECONDS * 2 ** (attempt - 1), LONGEST_MILLISECONDS);
  return Math.round(span * random);
}
