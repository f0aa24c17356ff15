/** Minimum number of months for which a deprecated element continues to work (CONTRIBUTING.md). */
export const NOTICE_MONTHS = 6;

export interface Deprecation {
  /** Midnight (UTC) of the day on which the element was deprecated. */
  readonly since: Date;
  /** Midnight (UTC) of the day from which the element may be removed. */
  readonly sunset: Date;
}

const REASON = /^\S.* Deprecated since (\d{4}-\d\d-\d\d), gone from (\d{4}-\d\d-\d\d)\.$/s;

/** Parses the dates of a reason; null if it does not have the form in CONTRIBUTING.md. */
export function parseDeprecation(reason: string): Deprecation | null {
  const [, since = '', sunset = ''] = REASON.exec(reason) ?? [];
  const dates = { since: parseDay(since), sunset: parseDay(sunset) };
  return dates.since === null || dates.sunset === null ? null : { since: dates.since, sunset: dates.sunset };
}

/** The same day some months later, or the days after it if that month is too short. */
export function monthsAfter(day: Date, months: number): Date {
  const later = new Date(day);
  later.setUTCMonth(later.getUTCMonth() + months);
  return later;
}

/** What is wrong with a reason: the end of a sentence whose subject is the reason, and the cure. Null: nothing. */
export function findReasonProblem(reason: string): string | null {
  const deprecation = parseDeprecation(reason);
  if (deprecation === null)
    return 'does not end with the dates. Write a text such as «Use …. Deprecated since 2026-01-31, gone from 2026-08-01.»';
  return deprecation.sunset < monthsAfter(deprecation.since, NOTICE_MONTHS)
    ? `leaves clients less than ${NOTICE_MONTHS} months between its dates. Write a later second date`
    : null;
}

/** Parses an RFC 3339 full-date; null if there is no such day. */
function parseDay(text: string): Date | null {
  const day = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(day.getTime()) || !day.toISOString().startsWith(text) ? null : day;
}
