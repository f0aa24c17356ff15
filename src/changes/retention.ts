import { LEAP_HOURS } from './log-clock.js';

/** Expired changes that one run deletes at most. */
export const PORTION = 20_000;

/**
 * SQL of the time from which changes are shown: older ones have expired, whether they are deleted yet or not. A clock that leaps
 * ahead makes at most one day of them expire (see advance).
 * @param days SQL of the number of days for which changes are kept
 */
export function changesKeptSince(days: string): string {
  return `(
      select greatest(k.changes_clock, least(now(), k.changes_clock + interval '${LEAP_HOURS} hours'))
        - make_interval(hours => 24 * ${days})
      from mirror_state k)`;
}
