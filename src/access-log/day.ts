const DAY = 86_400_000;

/** The day of an instant in UTC, such as 2030-01-15. */
export function dayOf(instant: Date): string {
  return instant.toISOString().slice(0, 10);
}

/** The first day that stays. */
export function keptSince(now: Date, days: number): string {
  return dayOf(new Date(now.getTime() - days * DAY));
}
