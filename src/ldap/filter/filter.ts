import { Ber, BerWriter, Filter as LdaptsFilter, SearchFilter } from 'ldapts';
import { foldPiece, foldValue, InvalidDnError, parseDn } from '../naming/dn.js';
import { decodeUtf8, type Entry } from '../entry.js';

/** The text is not a valid filter, or uses a kind of match that only a server can evaluate. */
export class InvalidFilterError extends Error {
  constructor(reason: string) {
    super(`invalid filter: ${reason}`);
    this.name = 'InvalidFilterError';
  }
}

/** A filter as a tree, with the names of RFC 4511 §4.5.1.7. Values are bytes, since an escape may stand for any byte. */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly filters: readonly Filter[] }
  | { readonly kind: 'not'; readonly filter: Filter }
  | { readonly kind: 'present'; readonly attribute: string }
  | {
      readonly kind: 'equalityMatch' | 'approxMatch' | 'greaterOrEqual' | 'lessOrEqual';
      readonly attribute: string;
      readonly value: Buffer;
    }
  | {
      readonly kind: 'substrings';
      readonly attribute: string;
      /** The pieces between the asterisks: at least two, of which the first and the last may be empty. */
      readonly pieces: readonly Buffer[];
    }
  | ExtensibleMatch;

/** A match by a rule that the filter names (RFC 4511 §4.5.1.7.7). */
interface ExtensibleMatch {
  readonly kind: 'extensibleMatch';
  /** Null: all attributes that the rule applies to. */
  readonly attribute: string | null;
  /** A name or an OID, as written; null: the equality rule of the attribute. */
  readonly rule: string | null;
  /** Whether the attributes in the DN of an entry match, too. */
  readonly includesDn: boolean;
  readonly value: Buffer;
}

interface Parsed {
  readonly filter: Filter;
  readonly end: number;
}

const MAXIMUM_DEPTH = 100;
/** The description of an attribute: a name or an OID, and options (RFC 4512 §2.5). */
const DESCRIPTION = String.raw`(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)(?:;[A-Za-z0-9-]+)*`;
const ITEM = new RegExp(String.raw`(${DESCRIPTION})([~<>]?=)([^()\0]*)\)`, 'y');
/** An attribute, `:dn` and a rule, of which some may be missing (RFC 4515 §3), before the value. */
const EXTENSIBLE = new RegExp(
  String.raw`(${DESCRIPTION})?(:dn)?(?::([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+))?:=([^()*\0]*)\)`,
  'iy',
);
const KINDS = {
  '=': 'equalityMatch',
  '~=': 'approxMatch',
  '>=': 'greaterOrEqual',
  '<=': 'lessOrEqual',
} as const;

/**
 * Parses the string representation of a search filter (RFC 4515 §3), including the empty `(&)` and `(|)` of RFC
 * 4526. The outermost parentheses are optional. The parser of ldapts accepts `(&(a=b)` and `(!(a=b)x`, and
 * decodes `\c3\a9` as two characters.
 * @throws {InvalidFilterError} with the position of the error
 */
export function parseFilter(text: string): Filter {
  const trimmed = text.trim();
  const whole = trimmed.startsWith('(') ? trimmed : `(${trimmed})`;
  const { filter, end } = parseAt(whole, 0, 0);
  if (end !== whole.length) throw new InvalidFilterError(`text after the end at character ${end + 1}`);
  return filter;
}

/** The attributes that a filter reads, as written, each once. */
export function attributesOfFilter(filter: Filter): string[] {
  const found = new Set<string>();
  const visit = (each: Filter): void => {
    if ('filters' in each) each.filters.forEach(visit);
    else if ('filter' in each) visit(each.filter);
    else if (each.attribute !== null) found.add(each.attribute);
  };
  visit(filter);
  return [...found];
}

function parseAt(text: string, start: number, depth: number): Parsed {
  if (text[start] !== '(') throw new InvalidFilterError(`expected "(" at character ${start + 1}`);
  if (depth > MAXIMUM_DEPTH) throw new InvalidFilterError(`nested more than ${MAXIMUM_DEPTH} deep`);
  switch (text[start + 1]) {
    case '&':
      return parseList('and', text, start + 2, depth);
    case '|':
      return parseList('or', text, start + 2, depth);
    case '!': {
      const { filter, end } = parseAt(text, start + 2, depth + 1);
      return { filter: { kind: 'not', filter }, end: closeAt(text, end) };
    }
    default:
      return parseItem(text, start + 1);
  }
}

function parseList(kind: 'and' | 'or', text: string, start: number, depth: number): Parsed {
  const filters: Filter[] = [];
  let position = start;
  while (text[position] === '(') {
    const { filter, end } = parseAt(text, position, depth + 1);
    filters.push(filter);
    position = end;
  }
  return { filter: { kind, filters }, end: closeAt(text, position) };
}

function closeAt(text: string, position: number): number {
  if (text[position] !== ')') throw new InvalidFilterError(`expected ")" at character ${position + 1}`);
  return position + 1;
}

function parseItem(text: string, start: number): Parsed {
  ITEM.lastIndex = start;
  const [, attribute, operator, value] = ITEM.exec(text) ?? [];
  const end = ITEM.lastIndex;
  if (attribute === undefined || operator === undefined || value === undefined)
    return parseExtensible(text, start);
  if (operator === '=' && value === '*') {
    return { filter: { kind: 'present', attribute }, end };
  }
  const pieces = value.split('*').map((piece) => parseValue(piece, start));
  const [first] = pieces;
  if (pieces.length === 1 && first !== undefined) {
    return { filter: { kind: KINDS[operator as keyof typeof KINDS], attribute, value: first }, end };
  }
  if (operator !== '=' || pieces.slice(1, -1).some((piece) => piece.length === 0))
    throw new InvalidFilterError(`a misplaced "*" after character ${start + 1}`);
  return { filter: { kind: 'substrings', attribute, pieces }, end };
}

function parseExtensible(text: string, start: number): Parsed {
  EXTENSIBLE.lastIndex = start;
  const [, attribute = null, dn, rule = null, value] = EXTENSIBLE.exec(text) ?? [];
  if (value === undefined || (attribute === null && rule === null))
    throw new InvalidFilterError(`expected an attribute, a comparison and ")" from character ${start + 1}`);
  const match = { attribute, rule, includesDn: dn !== undefined, value: parseValue(value, start) };
  return { filter: { kind: 'extensibleMatch', ...match }, end: EXTENSIBLE.lastIndex };
}

function parseValue(text: string, position: number): Buffer {
  if (/\\(?![0-9A-Fa-f]{2})/.test(text))
    throw new InvalidFilterError(`"\\" without two hexadecimal digits after character ${position + 1}`);
  const pieces = text.split(/((?:\\[0-9A-Fa-f]{2})+)/);
  return Buffer.concat(
    pieces.map((piece, index) =>
      index % 2 === 0 ? Buffer.from(piece, 'utf8') : Buffer.from(piece.replaceAll('\\', ''), 'hex'),
    ),
  );
}
type EntryPredicate = (entry: Entry) => boolean;

/**
 * Compiles a search filter (RFC 4515) to a predicate, to select entries without a server. No schema is used:
 * every value is compared by caseIgnoreMatch, and `~=` is the same as `=` (RFC 4511 §4.5.1.7.6 permits that).
 * `>=` and `<=` compare two integers as numbers, and other values by the order of characters, which is that of
 * generalized times of one form. A value that is not UTF-8 matches only the same bytes. `(cn=…)` also matches
 * `cn;lang-fr`, as on a server.
 * @throws {InvalidFilterError} for malformed text, and for matches that need a server
 */
export function compileFilter(text: string): EntryPredicate {
  return compile(parseFilter(text));
}

/** The bits of a number that all have to be set, or one of which has to be ([MS-ADTS] 3.1.1.3.4.4). */
const BITWISE_AND = '1.2.840.113556.1.4.803';
const BITWISE_OR = '1.2.840.113556.1.4.804';

function compile(filter: Filter): EntryPredicate {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const predicates = filter.filters.map(compile);
      return filter.kind === 'and'
        ? (entry) => predicates.every((predicate) => predicate(entry))
        : (entry) => predicates.some((predicate) => predicate(entry));
    }
    case 'not': {
      const predicate = compile(filter.filter);
      return (entry) => !predicate(entry);
    }
    case 'present':
      return (entry) => entry.bytesOfSubtypes(filter.attribute).length > 0;
    case 'equalityMatch':
    case 'approxMatch':
      return someValue(filter.attribute, compileEqual(filter.value));
    case 'greaterOrEqual':
    case 'lessOrEqual':
      return someText(filter.attribute, compileOrder(filter.kind, foldValue(textOf(filter.value))));
    case 'substrings':
      return someText(filter.attribute, compilePieces(filter.pieces));
    case 'extensibleMatch':
      return compileExtensible(filter);
  }
}

function compileOrder(kind: 'greaterOrEqual' | 'lessOrEqual', bound: string): (value: string) => boolean {
  const isOrdered = <Value extends bigint | string>(value: Value, other: Value) =>
    kind === 'greaterOrEqual' ? value >= other : value <= other;
  const boundNumber = parseInteger(bound);
  return (value) => {
    const number = boundNumber === null ? null : parseInteger(value);
    return number === null || boundNumber === null ? isOrdered(value, bound) : isOrdered(number, boundNumber);
  };
}

function compileEqual(value: Buffer): (candidate: Buffer) => boolean {
  const text = decodeUtf8(value);
  if (text === null) return (candidate) => candidate.equals(value);
  const folded = foldValue(text);
  return (candidate) => {
    const candidateText = decodeUtf8(candidate);
    return candidateText !== null && foldValue(candidateText) === folded;
  };
}

/** Matches by the equality rule, and by the bitwise rules of Active Directory, whose numbers have a sign and any number of bits. */
function compileExtensible({ attribute, rule, includesDn, value }: ExtensibleMatch): EntryPredicate {
  if (attribute === null || !(rule === null || rule === BITWISE_AND || rule === BITWISE_OR))
    throw new InvalidFilterError(`a match by the rule ${rule ?? ''}, which only a server can evaluate`);
  const matches = rule === null ? compileEqual(value) : compileBits(rule, value);
  return (entry) =>
    entry.bytesOfSubtypes(attribute).some(matches) ||
    (includesDn && valuesInDn(entry.dn, attribute).some(matches));
}

function compileBits(rule: string, value: Buffer): (candidate: Buffer) => boolean {
  const bits = parseInteger(value.toString('latin1'));
  if (bits === null) throw new InvalidFilterError(`a value that is not an integer, for the rule ${rule}`);
  return (candidate) => {
    const number = parseInteger(candidate.toString('latin1'));
    if (number === null) return false;
    return rule === BITWISE_AND ? (number & bits) === bits : (number & bits) !== 0n;
  };
}

/** A number of more digits is a text: to parse millions of them takes long. */
function parseInteger(text: string): bigint | null {
  return /^-?\d{1,1000}$/.test(text) ? BigInt(text) : null;
}

/** The values of an attribute in the relative DNs of a DN; none if the DN is malformed. */
function valuesInDn(dn: string, attribute: string): Buffer[] {
  const type = attribute.toLowerCase();
  try {
    const pairs = parseDn(dn).flat();
    return pairs.filter((pair) => pair.type.toLowerCase() === type).map(({ value }) => Buffer.from(value));
  } catch (error) {
    if (error instanceof InvalidDnError) return [];
    throw error;
  }
}

/** Matches the pieces in order and without overlap: the first at the beginning, the last at the end. */
function compilePieces(pieces: readonly Buffer[]): (value: string) => boolean {
  const folded = pieces.map((piece) => foldPiece(textOf(piece)));
  // The ends of a value are trimmed, so a space there could never match.
  const initial = (folded[0] ?? '').trimStart();
  const final = (folded.at(-1) ?? '').trimEnd();
  const inner = folded.slice(1, -1);
  return (value) => {
    if (!value.startsWith(initial)) return false;
    let position = initial.length;
    for (const piece of inner) {
      const found = value.indexOf(piece, position);
      if (found === -1) return false;
      position = found + piece.length;
    }
    return value.length - final.length >= position && value.endsWith(final);
  };
}

function someValue(attribute: string, matches: (value: Buffer) => boolean): EntryPredicate {
  return (entry) => entry.bytesOfSubtypes(attribute).some(matches);
}

function someText(attribute: string, matches: (value: string) => boolean): EntryPredicate {
  return someValue(attribute, (bytes) => {
    const text = decodeUtf8(bytes);
    return text !== null && matches(foldValue(text));
  });
}

function textOf(value: Buffer): string {
  const text = decodeUtf8(value);
  if (text === null) throw new InvalidFilterError('a value that is not UTF-8 can only be compared with "="');
  return text;
}

/** The BER encoding of a filter. */
export function encodeFilter(filter: Filter): Buffer {
  const writer = new BerWriter();
  writeFilter(filter, writer);
  return writer.buffer;
}

/** A filter in a request of ldapts, whose own filters store values as text and lose escaped bytes that are not UTF-8. */
export class EncodedFilter extends LdaptsFilter {
  readonly type = SearchFilter.present;

  constructor(private readonly filter: Filter) {
    super();
  }

  override write(writer: BerWriter): void {
    writeFilter(this.filter, writer);
  }

  override toString(): string {
    return `(${this.filter.kind})`;
  }
}

function writeFilter(filter: Filter, writer: BerWriter): void {
  const tag = SearchFilter[filter.kind];
  if (filter.kind === 'present') {
    writer.writeString(filter.attribute, tag);
    return;
  }
  writer.startSequence(tag);
  if ('filters' in filter) for (const each of filter.filters) writeFilter(each, writer);
  else if ('filter' in filter) writeFilter(filter.filter, writer);
  else if (filter.kind === 'extensibleMatch') {
    if (filter.rule !== null) writer.writeString(filter.rule, 0x81);
    if (filter.attribute !== null) writer.writeString(filter.attribute, 0x82);
    writer.writeBuffer(filter.value, 0x83);
    if (filter.includesDn) writer.writeBoolean(true, 0x84);
  } else {
    writer.writeString(filter.attribute);
    if ('pieces' in filter) writePieces(filter.pieces, writer);
    else writer.writeBuffer(filter.value, Ber.OctetString);
  }
  writer.endSequence();
}

function writePieces(pieces: readonly Buffer[], writer: BerWriter): void {
  writer.startSequence();
  pieces.forEach((piece, index) => {
    // The tags of the initial piece, the final one and others.
    const tag = index === 0 ? 0x80 : index === pieces.length - 1 ? 0x82 : 0x81;
    // A piece before the first asterisk or after the last one is omitted when it is empty.
    if (piece.length > 0) writer.writeBuffer(piece, tag);
  });
  writer.endSequence();
}
