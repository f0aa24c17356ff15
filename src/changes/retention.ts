const DAY = 86_400_000;

/** Changes that are deleted at once, when they are past: more wait for the next time. */
export const PORTION = 20_000;

/** The instant from which on changes are shown: what is older is past, whether it has been deleted yet or not. */
export function changesKeptSince(now: Date, days: number): Date {
  return new Date(now.getTime() - days * DAY);
}
