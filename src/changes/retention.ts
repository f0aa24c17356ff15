import { LEAP_HOURS } from './log-clock.js';

/** Changes that are deleted at once, when they are past: more wait for the next time. */
export const PORTION = 20_000;

/**
 * SQL of the instant from which on changes are shown: what is older is past, whether it has been deleted yet or not. A clock
 * that leaps ahead makes no more than a day of them past (see advance).
 * @param days SQL of the number of days for which changes are kept
 */
export function changesKeptSince(days: string): string {
  return `(
      select greatest(k.changes_clock, least(now(), k.changes_clock + interval '${LEAP_HOURS} hours'))
        - make_interval(hours => 24 * ${days})
      from mirror_state k)`;
}
