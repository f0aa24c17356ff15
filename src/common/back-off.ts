const FIRST_MILLISECONDS = 500;
const LONGEST_MILLISECONDS = 30_000;

/**
 * Computes the delay before the next attempt. The upper bound is half a second after the first failure,
 * doubles after each further failure and is half a minute at most. The delay is random between 0 and that
 * bound («full jitter»), so that clients that lost the same server do not all reconnect at once.
 *
 * @param attempt failures so far, counted from 1
 * @param random a number from 0 up to 1
 * @returns milliseconds
 */
export function backOff(attempt: number, random: number): number {
  const span = Math.min(FIRST_MILLISECONDS * 2 ** (attempt - 1), LONGEST_MILLISECONDS);
  return Math.round(span * random);
}
