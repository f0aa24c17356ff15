const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** How far the clock of the log follows the clock of the database at once. */
export const LEAP_HOURS = 24;

/** What the log of changes takes for the time when it decides what is past. */
export interface LogClock {
  readonly at: Date;
  /** When the clock of the database began to be more than a day ahead; null: it is not. */
  readonly doubtedSince: Date | null;
}

/**
 * Follows the clock of the database, but not at once when that leaps ahead by more than a day: a wrong clock must not delete
 * what it takes for past. It is believed when it still says the same an hour later. A clock that goes back is followed at
 * once: then less is past.
 */
export function advance({ at, doubtedSince }: LogClock, now: Date): LogClock {
  if (now.getTime() - at.getTime() <= DAY) return { at: now, doubtedSince: null };
  const doubted = doubtedSince === null ? NaN : now.getTime() - doubtedSince.getTime();
  if (!(doubted >= 0 && doubted <= DAY)) return { at, doubtedSince: now };
  return doubted >= HOUR ? { at: now, doubtedSince: null } : { at, doubtedSince };
}

/** Whether a clock that was more than a day ahead has turned out to be wrong: what was written by it is of a later time. */
export function hasRecovered(before: LogClock, now: Date): boolean {
  return before.doubtedSince !== null && now.getTime() - before.at.getTime() <= DAY;
}
