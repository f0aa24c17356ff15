const DAY = 86_400_000;

/** The instant from which on changes are shown: what is older is past, whether it has been deleted yet or not. */
export function changesKeptSince(now: Date, days: number): Date {
  return new Date(now.getTime() - days * DAY);
}
