const DAY = 86_400_000;

/** The day of an instant, in UTC: 2030-01-15 (pure). */
export function dayOf(instant: Date): string {
  return instant.toISOString().slice(0, 10);
}

/** The first day that is still kept (pure). */
export function keptSince(now: Date, days: number): string {
  return dayOf(new Date(now.getTime() - days * DAY));
}
