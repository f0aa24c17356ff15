import { normalizeLowerCase } from '../../common/identity.js';
import { decodeUtf8 } from '../entry.js';

/** One `type=value` pair of a relative DN. The value is bytes if it was BER-encoded (`#04024869`). */
interface AttributeTypeAndValue {
  readonly type: string;
  readonly value: string | Buffer;
}

/** A relative distinguished name: one pair, or several joined by `+`. */
type Rdn = readonly AttributeTypeAndValue[];

/** A distinguished name, from the entry up to the root. The root DN is the empty list. */
type Dn = readonly Rdn[];

/** The text is not a distinguished name. The message gives a position, and never the text: names are personal data. */
export class InvalidDnError extends Error {
  constructor(reason: string) {
    super(`invalid DN: ${reason}`);
    this.name = 'InvalidDnError';
  }
}

/** OpenLDAP accepts at most 8,192 bytes. The bound limits the time that the regular expressions spend on hostile text. */
const MAXIMUM_LENGTH = 65_536;

const TYPE = / *([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+) *= */y;
const HEX_VALUE = /#((?:[0-9A-Fa-f]{2})+) */y;
const ESCAPES = /((?:\\[0-9A-Fa-f]{2})+)|\\(.)/g;
const STRING_VALUE = /((?:[^\0"+,;<>\\]+|\\(?:[0-9A-Fa-f]{2}|[ "#+,;<=>\\]))*)/y;

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
 * @throws {InvalidDnError} for malformed text, escapes that are not UTF-8, or more than 65,536 characters
 */
export function parseDn(text: string): Dn {
  if (text.length > MAXIMUM_LENGTH) throw new InvalidDnError(`longer than ${MAXIMUM_LENGTH} characters`);
  if (!text.isWellFormed()) throw new InvalidDnError('not well-formed Unicode');
  if (/^ *$/.test(text)) return [];
  const rdns: AttributeTypeAndValue[][] = [[]];
  for (let start = 0; ;) {
    const [end, type = ''] = match(TYPE, text, start, 'expected an attribute type and "="');
    const isHex = text[end] === '#';
    const [stop, written = ''] = isHex
      ? match(HEX_VALUE, text, end, 'expected pairs of hexadecimal digits')
      : match(STRING_VALUE, text, end, '');
    rdns.at(-1)?.push({ type, value: isHex ? Buffer.from(written, 'hex') : resolveEscapes(written) });
    if (stop === text.length) return rdns;
    if (text[stop] === ',') rdns.push([]);
    else if (text[stop] !== '+')
      throw new InvalidDnError(
        `a character that must be escaped, or an unknown escape, at character ${stop + 1}`,
      );
    start = stop + 1;
  }
}

/** Returns the end of a match that begins at a position, and its group. */
function match(pattern: RegExp, text: string, start: number, otherwise: string): [number, string?] {
  pattern.lastIndex = start;
  const found = pattern.exec(text);
  if (found === null) throw new InvalidDnError(`${otherwise} at character ${start + 1}`);
  return [pattern.lastIndex, found[1]];
}

function resolveEscapes(written: string): string {
  // A space at the end belongs to the value only if it is escaped.
  let end = written.length;
  while (written[end - 1] === ' ') end--;
  const text = written.slice(0, end);
  if (!text.includes('\\')) return text;
  return `${text}${endsInEscape(text) ? ' ' : ''}`.replace(
    ESCAPES,
    (_, pairs: string | undefined, character: string) => {
      if (pairs === undefined) return character;
      const value = decodeUtf8(Buffer.from(pairs.replaceAll('\\', ''), 'hex'));
      if (value === null) throw new InvalidDnError('escaped bytes that are not UTF-8');
      return value;
    },
  );
}

/**
 * The comparison key of a DN: two DNs name the same entry if and only if their keys are equal. Types and
 * values are folded (RFC 4517 §4.2.15 and §4.2.11), the pairs of a relative DN are sorted, and escapes have
 * one form. The key is itself a DN. No schema is used: every value is compared case-insensitively, `cn` and
 * `commonName` are two types, and a value given as `#…` equals only another value given as `#…`.
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
  if (baseKey === '' || key === baseKey) return true;
  if (!key.endsWith(`,${baseKey}`)) return false;
  // `cn=a\,ou=x` ends in `,ou=x` but is not below it: the comma is escaped and belongs to the value.
  return !endsInEscape(key.slice(0, -baseKey.length - 1));
}

/** Whether a text ends in an odd number of backslashes. */
function endsInEscape(text: string): boolean {
  let end = text.length;
  while (text[end - 1] === '\\') end--;
  return (text.length - end) % 2 === 1;
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
  const containing = namingContexts.filter((context) => isBelow(base, context));
  return containing.sort((one, other) => one.length - other.length).at(-1);
}

/** Escapes text for use as a value in a DN (RFC 4514 §2.4). */
export function escapeDnValue(value: string): string {
  return value.replace(/[\0"+,;<>\\]|^[ #]| $/g, (character) =>
    character === '\0' ? '\\00' : `\\${character}`,
  );
}

/** The attribute whose values may have a unique identifier after the DN (RFC 4519 §2.40), in lower case. */
export const UNIQUE_MEMBER = 'uniquemember';

/**
 * Returns the DN in a value of the syntax Name and Optional UID, such as `cn=a#'0101'B` (RFC 4517 §3.3.21) (pure). The
 * identifier distinguishes entries that used a DN one after another, which no directory does today.
 */
export function dnOfNameAndUid(text: string): string {
  return text.endsWith("'B") ? text.replace(/#'[01]*'B$/, '') : text;
}

/** Matches text for which converting to lower case is not sufficient. Most values do not match. */
const NOT_PLAIN = /[^\x20-\x7e]| {2}/;
const WHITE_SPACE = /[\s\u0085]+/gu;

/**
 * Converts to lower case and replaces each run of white space by one space. Does not trim the ends: a piece
 * of a substring filter can begin or end in the middle of a value.
 */
export function foldPiece(text: string): string {
  if (!NOT_PLAIN.test(text)) return text.toLowerCase();
  // Converting to lower case can leave a sequence that is no longer composed, hence the second normalization.
  return normalizeLowerCase(text, 'NFKC').normalize('NFKC').replace(WHITE_SPACE, ' ');
}

/**
 * Folds a value for comparison by caseIgnoreMatch (RFC 4517 §4.2.11, RFC 4518): case, compatibility forms,
 * leading, trailing and repeated spaces become insignificant. As in OpenLDAP, `ß` and `ss` stay different,
 * because a server allows two such entries to coexist.
 */
export function foldValue(text: string): string {
  return foldPiece(text).trim();
}
