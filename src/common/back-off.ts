const FIRST_MILLISECONDS = 500;
const LONGEST_MILLISECONDS = 30_000;

/**
 * The delay before the next attempt in milliseconds: random («full jitter») below half a second after the first
 * failure (`attempt` 1), doubled after each further one, up to half a minute. `random` is from 0 up to 1.
 */
export function backOff(attempt: number, random: number): number {
  const span = Math.min(FIRST_MILLISECONDS * 2 ** (attempt - 1), LONGEST_MILLISECONDS);
  return Math.round(span * random);
}
