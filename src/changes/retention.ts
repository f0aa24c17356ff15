import { LOG_CLOCK } from '../database/statements/statement.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export interface LogClock {
  readonly at: Date;
  /** Since when the clock of the database has been more than a day ahead; null: it is not. */
  readonly doubtedSince: Date | null;
}

/**
 * Follows the clock of the database. A leap of more than a day is followed only when it has lasted an hour, because a wrong clock
 * must not delete changes. A clock that goes back is followed at once: then fewer changes expire.
 */
export function advance({ at, doubtedSince }: LogClock, now: Date): LogClock {
  if (now.getTime() - at.getTime() <= DAY) return { at: now, doubtedSince: null };
  const doubted = doubtedSince === null ? NaN : now.getTime() - doubtedSince.getTime();
  if (!(doubted >= 0 && doubted <= DAY)) return { at, doubtedSince: now };
  return doubted >= HOUR ? { at: now, doubtedSince: null } : { at, doubtedSince };
}

/** Whether a clock that was more than a day ahead was wrong: then changes of that period have times in the future. */
export function hasRecovered(before: LogClock, now: Date): boolean {
  return before.doubtedSince !== null && now.getTime() - before.at.getTime() <= DAY;
}

/** Expired changes that one run deletes at most. */
export const PORTION = 20_000;

/**
 * SQL of the time from which changes are shown, whether older ones are deleted yet or not. A clock that leaps
 * ahead makes at most one day of them expire (see advance). `days` is SQL.
 */
export function changesKeptSince(days: string): string {
  return `(
      select ${LOG_CLOCK}
        - make_interval(hours => 24 * ${days})
      from mirror_state k)`;
}
