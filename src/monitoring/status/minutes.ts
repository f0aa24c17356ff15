/** Minutes that are kept. */
const KEPT = 60;
const MINUTE = 60_000;
/** Minutes that lie further ahead were measured by a clock that was wrong. */
const LARGEST_STEP = 5 * MINUTE;

/** What happened within a minute. */
export interface Minute {
  /** Its start, in milliseconds since 1970. */
  readonly at: number;
  /** Requests other than probes. */
  readonly requests: number;
  /** Highest measured age of the mirror in seconds. Null: it was unknown. */
  readonly ageSeconds: number | null;
}

/** Returns the start of the minute, in milliseconds since 1970 (pure). */
export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE) * MINUTE;
}

/** Adds a measurement to its minute (pure). */
export function withMeasurement(minutes: readonly Minute[], measured: Minute): readonly Minute[] {
  const last = minutes.at(-1);
  if (last !== undefined && last.at - measured.at > LARGEST_STEP)
    return withMeasurement(
      minutes.filter(({ at }) => at <= measured.at),
      measured,
    );
  // A clock that was set back continues the last minute.
  if (last === undefined || measured.at > last.at)
    return [...minutes.filter(({ at }) => at > measured.at - KEPT * MINUTE), measured];
  return [...minutes.slice(0, -1), { ...combine(last, measured), at: last.at }];
}

/** Combines the minutes of several processes: the sum of requests, and the highest age (pure). */
export function sumOf(histories: readonly (readonly Minute[])[]): readonly Minute[] {
  const byTime = new Map<number, Minute>();
  for (const minute of histories.flat()) {
    const known = byTime.get(minute.at);
    byTime.set(minute.at, known === undefined ? minute : combine(known, minute));
  }
  return [...byTime.values()].sort((left, right) => left.at - right.at).slice(-KEPT);
}

function combine(one: Minute, other: Minute): Minute {
  const ages = [one.ageSeconds, other.ageSeconds].filter((age) => age !== null);
  return {
    at: one.at,
    requests: one.requests + other.requests,
    ageSeconds: ages.length === 0 ? null : Math.max(...ages),
  };
}
