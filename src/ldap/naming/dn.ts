import { isUtf8 } from 'node:buffer';
import { foldValue } from './case-ignore-match.js';

/** One `type=value` pair of a relative DN. The value is bytes if it was BER-encoded (`#04024869`). */
interface AttributeTypeAndValue {
  readonly type: string;
  readonly value: string | Buffer;
}

/** A relative distinguished name: one pair, or several joined by `+`. */
type Rdn = readonly AttributeTypeAndValue[];

/** A distinguished name, from the entry up to the root. The root DN is the empty list. */
type Dn = readonly Rdn[];

/**
 * The text is not a distinguished name. The message gives a position, and never the text: names are personal
 * data.
 */
export class InvalidDnError extends Error {
  constructor(reason: string) {
    super(`invalid DN: ${reason}`);
    this.name = 'InvalidDnError';
  }
}

/**
 * OpenLDAP accepts at most 8,192 bytes. The bound limits the time that the regular expressions spend on
 * hostile text.
 */
const MAXIMUM_LENGTH = 65_536;

const TYPE = / *([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+) *= */y;
const HEX_VALUE = /#((?:[0-9A-Fa-f]{2})+) */y;
const ESCAPE = /\\(?:[0-9A-Fa-f]{2}|[ "#+,;<=>\\])/y;
const ESCAPES = /((?:\\[0-9A-Fa-f]{2})+)|\\(.)/g;
const PLAIN = /[^\0"+,;<>\\]*/y;

/**
 * Together these match DNs in ASCII without escapes, multi-valued RDNs or insignificant spaces, which lower
 * case normalizes completely. That takes a tenth of the time, and a synchronization run normalizes the DN of
 * every member of every group.
 */
const ORDINARY =
  /^[A-Za-z][A-Za-z0-9-]*=[ !#-*\--:=?-[\]-~]+(?:,[A-Za-z][A-Za-z0-9-]*=[ !#-*\--:=?-[\]-~]+)*$/;
const UNORDINARY = /=[ #]| ,| {2}| $/;

/**
 * Parses the string representation of a DN (RFC 4514 §3). Spaces around `,`, `+` and `=` are skipped, because
 * tools write them (RFC 2253 §4). Quoted values and `;` as a separator, which RFC 4514 removed, are rejected.
 *
 * @throws {InvalidDnError} for malformed text, escapes that are not UTF-8, or more than 65,536 characters
 */
export function parseDn(text: string): Dn {
  if (text.length > MAXIMUM_LENGTH) throw new InvalidDnError(`longer than ${MAXIMUM_LENGTH} characters`);
  if (!text.isWellFormed()) throw new InvalidDnError('not well-formed Unicode');
  const rdns: AttributeTypeAndValue[][] = [];
  if (/^ *$/.test(text)) return rdns;
  let rdn: AttributeTypeAndValue[] = [];
  let position = 0;
  for (;;) {
    const type = readType(text, position);
    const value = readValue(text, type.end);
    rdn.push({ type: type.type, value: value.value });
    if (text[value.end] !== '+') {
      rdns.push(rdn);
      rdn = [];
    }
    if (value.end === text.length) {
      return rdns;
    }
    position = value.end + 1;
  }
}

function readType(text: string, start: number): { type: string; end: number } {
  TYPE.lastIndex = start;
  const type = TYPE.exec(text)?.[1];
  if (type === undefined) {
    throw new InvalidDnError(`expected an attribute type and "=" at character ${start + 1}`);
  }
  return { type, end: TYPE.lastIndex };
}

function readValue(text: string, start: number): { value: string | Buffer; end: number } {
  if (text[start] !== '#') {
    return readString(text, start);
  }
  HEX_VALUE.lastIndex = start;
  const hex = HEX_VALUE.exec(text)?.[1];
  const end = HEX_VALUE.lastIndex;
  if (hex === undefined || (end < text.length && text[end] !== ',' && text[end] !== '+')) {
    throw new InvalidDnError(`expected pairs of hexadecimal digits at character ${start + 1}`);
  }
  return { value: Buffer.from(hex, 'hex'), end };
}

function readString(text: string, start: number): { value: string; end: number } {
  let position = start;
  // Trailing spaces belong to the value only if they are escaped.
  let valueEnd = start;
  for (;;) {
    PLAIN.lastIndex = position;
    PLAIN.test(text);
    const runEnd = PLAIN.lastIndex;
    valueEnd = Math.max(valueEnd, endWithoutSpaces(text, position, runEnd));
    const character = text[runEnd];
    if (character === undefined || character === ',' || character === '+') {
      return { value: resolveEscapes(text.slice(start, valueEnd)), end: runEnd };
    }
    if (character !== '\\') {
      throw new InvalidDnError(`a character that must be escaped at character ${runEnd + 1}`);
    }
    position = valueEnd = endOfEscape(text, runEnd);
  }
}

function endWithoutSpaces(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && text[last - 1] === ' ') {
    last -= 1;
  }
  return last;
}

function endOfEscape(text: string, start: number): number {
  ESCAPE.lastIndex = start;
  if (!ESCAPE.test(text)) {
    throw new InvalidDnError(`an unknown escape at character ${start + 1}`);
  }
  return ESCAPE.lastIndex;
}

function resolveEscapes(text: string): string {
  if (!text.includes('\\')) {
    return text;
  }
  return text.replace(ESCAPES, (_, pairs: string | undefined, character: string) => {
    if (pairs === undefined) {
      return character;
    }
    const bytes = Buffer.from(pairs.replaceAll('\\', ''), 'hex');
    if (!isUtf8(bytes)) {
      throw new InvalidDnError('escaped bytes that are not UTF-8');
    }
    return bytes.toString('utf8');
  });
}

/**
 * The comparison key of a DN: two DNs name the same entry if and only if their keys are equal. Types and
 * values are folded (RFC 4517 §4.2.15 and §4.2.11), the pairs of a relative DN are sorted, and escapes have
 * one form. The key is itself a DN. No schema is used: every value is compared case-insensitively, `cn` and
 * `commonName` are two types, and a value given as `#…` equals only another value given as `#…`.
 *
 * @throws {InvalidDnError} as parseDn does
 */
export function normalizeDn(text: string): string {
  const isOrdinary = text.length <= MAXIMUM_LENGTH && ORDINARY.test(text) && !UNORDINARY.test(text);
  return isOrdinary ? text.toLowerCase() : parseDn(text).map(rdnKey).join(',');
}

function rdnKey(rdn: Rdn): string {
  return rdn.map(pairKey).sort().join('+');
}

function pairKey({ type, value }: AttributeTypeAndValue): string {
  const written = typeof value === 'string' ? escapeDnValue(foldValue(value)) : `#${value.toString('hex')}`;
  return `${type.toLowerCase()}=${written}`;
}

/**
 * Whether an entry is the base or a descendant of it (RFC 4511 §4.5.1.2, wholeSubtree). Either DN may be as
 * written or normalized. A malformed one is below nothing, and nothing is below it.
 */
export function isBelow(dn: string, base: string): boolean {
  const [key, baseKey] = [tryNormalizeDn(dn), tryNormalizeDn(base)];
  if (key === null || baseKey === null) return false;
  if (baseKey === '' || key === baseKey) {
    return true;
  }
  if (!key.endsWith(`,${baseKey}`)) {
    return false;
  }
  // `cn=a\,ou=x` ends in `,ou=x` but is not below it: the comma is escaped and belongs to the value.
  const above = key.slice(0, -baseKey.length - 1);
  const backslashes = above.length - above.replace(/\\+$/, '').length;
  return backslashes % 2 === 0;
}

/** The normalized DN; null if it is malformed. */
export function tryNormalizeDn(dn: string): string | null {
  try {
    return normalizeDn(dn);
  } catch (error) {
    if (error instanceof InvalidDnError) return null;
    throw error;
  }
}

/** The innermost naming context (database suffix) that contains a base; undefined if none does. */
export function suffixOf(base: string, namingContexts: readonly string[]): string | undefined {
  return namingContexts
    .filter((context) => isBelow(base, context))
    .reduce<string | undefined>(
      (inner, each) => (each.length >= (inner?.length ?? 0) ? each : inner),
      undefined,
    );
}

/** Escapes text for use as a value in a DN (RFC 4514 §2.4). */
export function escapeDnValue(value: string): string {
  return value.replace(/[\0"+,;<>\\]|^[ #]| $/g, (character) =>
    character === '\0' ? '\\00' : `\\${character}`,
  );
}
