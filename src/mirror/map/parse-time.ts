/**
 * Parses Generalized Time (RFC 4517 §3.3.13) in the form that directories write, in UTC; null for any other
 * form.
 */
export function parseGeneralizedTime(text: string): Date | null {
  const parts = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(?:[.,]\d+)?Z$/.exec(text);
  if (parts === null) return null;
  const [, year, month, day, hour, minute, second] = parts;
  const instant = new Date(
    `${year ?? ''}-${month ?? ''}-${day ?? ''}T${hour ?? ''}:${minute ?? ''}:${second ?? ''}Z`,
  );
  return Number.isNaN(instant.getTime()) ? null : instant;
}

/** Parses a time of RFC 3339, which lldap writes instead of Generalized Time; null for any other form. */
export function parseRfc3339(text: string): Date | null {
  const parts = /^(\d{4}-\d{2}-(\d{2}))T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/.exec(text);
  if (parts === null) return null;
  // A day that the month does not have would become one of the next month.
  if (new Date(parts[1] ?? '').getUTCDate() !== Number(parts[2])) return null;
  const instant = new Date(text);
  return Number.isNaN(instant.getTime()) ? null : instant;
}
