import type { Field, FieldReader } from '../../common/field.js';
import { faultOfWebsite, parseUrl } from '../../common/url.js';

/** The reason why a value does not fit its field: the end of a sentence whose subject is the attribute. */
export class Misfit {
  /** @param reason never contains the value */
  constructor(readonly reason: string) {}
}

type Parsed = string | number | boolean | null | Misfit;

const INTEGER = 2 ** 31;

/**
 * Parses one value of a field (pure). The text has no surrounding white space.
 * @returns null: the value means that there is none
 */
export function parseValue({ reader }: Pick<Field, 'reader'>, text: string): Parsed {
  return (PARSERS[reader] ?? same)(text);
}

const PARSERS: Partial<Record<FieldReader, (text: string) => Parsed>> = {
  website: parseWebsite,
  url: parseAbsoluteUrl,
  boolean: parseBoolean,
  integer: parseInteger,
  number: parseNumber,
  time: parseInstant,
};

function same(text: string): string {
  return text;
}

/** RFC 2079: a URL, optionally followed by a space and a label. */
function parseWebsite(text: string): string | Misfit {
  const [url = ''] = text.split(' ');
  const fault = faultOfWebsite(url);
  return fault === null ? url : new Misfit(fault);
}

/** Schemes whose URLs run a program, or are a document of their own, where a page links to them. */
const ACTIVE_SCHEMES = new Set(['javascript:', 'vbscript:', 'data:', 'blob:']);

/** RFC 3986 §4.3 with any scheme, in the form of the WHATWG URL standard. A label may follow (RFC 2079). */
function parseAbsoluteUrl(text: string): string | Misfit {
  const url = parseUrl(text.split(' ')[0] ?? '');
  if (url === null) return new Misfit('is not an absolute URL');
  return ACTIVE_SCHEMES.has(url.protocol) ? new Misfit('is a URL that a page would run') : url.href;
}

/** RFC 4517 §3.3.3: TRUE or FALSE. */
function parseBoolean(text: string): boolean | Misfit {
  if (text === 'TRUE' || text === 'FALSE') return text === 'TRUE';
  return new Misfit('is neither TRUE nor FALSE');
}

/** RFC 4517 §3.3.16, within 32 bits as GraphQL requires. */
function parseInteger(text: string): number | Misfit {
  const value = /^-?\d+$/.test(text) ? Number(text) : NaN;
  if (Number.isNaN(value)) return new Misfit('is not a whole number');
  return value >= -INTEGER && value < INTEGER ? value + 0 : new Misfit('has more than 32 bits');
}

function parseNumber(text: string): number | Misfit {
  const isNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text);
  const value = isNumber ? Number(text) : NaN;
  return Number.isFinite(value) ? value + 0 : new Misfit('is not a finite number');
}

/** Active Directory: no instant, such as an account that never expires. */
const NEVER = new Set(['0', '9223372036854775807']);
/** A shorter count, of the years before 1605, would look like Generalized Time without a zone. */
const COUNT = /^\d{15,19}$/;
/** Whether a text is a count of 100 nanoseconds since 1601. */
export function isCount(text: string): boolean {
  return NEVER.has(text) || COUNT.test(text);
}

/** The count of 100 nanoseconds since 1601 at an instant. */
export function countOf(instant: Date): string {
  return String((BigInt(instant.getTime()) + SINCE_1601) * 10_000n);
}

/** Milliseconds between the beginning of 1601 and of 1970. */
const SINCE_1601 = 11_644_473_600_000n;
const EARLIEST = Date.parse('0001-01-01T00:00:00Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * An instant as text in UTC with milliseconds (RFC 3339), which sorts by time: from Generalized Time, or from
 * Active Directory's count of 100 nanoseconds since 1601.
 */
function parseInstant(text: string): string | null | Misfit {
  if (NEVER.has(text)) return null;
  const time = COUNT.test(text) ? Number(BigInt(text) / 10_000n - SINCE_1601) : timeOf(text);
  if (Number.isNaN(time)) return new Misfit('is not Generalized Time');
  if (time < EARLIEST || time > LATEST) return new Misfit('is not in the years 1 to 9999');
  return new Date(time).toISOString();
}

/** RFC 4517 §3.3.13. The fraction is of the smallest unit that is present. */
const GENERALIZED_TIME =
  /^(\d{4})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])(?:([0-5]\d)([0-5]\d|60)?)?(?:[.,](\d+))?(?:Z|([+-])([01]\d|2[0-3])([0-5]\d)?)$/;

/** Milliseconds since 1970; NaN if it is not Generalized Time. */
function timeOf(text: string): number {
  const parts = GENERALIZED_TIME.exec(text);
  if (parts === null) return NaN;
  const [, year = '', month = '', day = '', hour, minute, second, fraction, sign, hours, minutes] = parts;
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  // A day that the month does not have would become one of the next month.
  if (date.getUTCDate() !== Number(day)) return NaN;
  const unit = second !== undefined ? 1000 : minute !== undefined ? 60_000 : 3_600_000;
  const ofDay = milliseconds(hour, minute, second) + Math.floor(Number(`0.${fraction ?? '0'}`) * unit);
  return date.getTime() + ofDay - (sign === '-' ? -1 : 1) * milliseconds(hours, minutes);
}

function milliseconds(hours = '0', minutes = '0', seconds = '0'): number {
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
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

/** Returns the value of a field as its attribute has it (pure): the inverse of parseValue. */
export function textOfValue({ reader }: Pick<Field, 'reader'>, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (reader === 'boolean') return value === true ? 'TRUE' : 'FALSE';
  if (value instanceof Date || reader === 'time') return generalizedTime(new Date(value as string | Date));
  if (value instanceof URL) return value.href;
  return typeof value === 'number' ? String(value) : (value as string);
}

/** RFC 4517 §3.3.13, in UTC, with milliseconds only if there are some. */
function generalizedTime(instant: Date): string {
  const [date = '', milliseconds = '000Z'] = instant.toISOString().split('.');
  return `${date.replace(/[-:T]/g, '')}${milliseconds === '000Z' ? 'Z' : `.${milliseconds}`}`;
}
