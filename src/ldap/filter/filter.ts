import { foldPiece, foldValue } from '../naming/case-ignore-match.js';
import { InvalidDnError, parseDn } from '../naming/dn.js';
import { decodeUtf8, type Entry } from '../entry.js';
import { type ExtensibleMatch, type Filter, InvalidFilterError, parseFilter } from './filter-parser.js';

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
    case 'equal':
    case 'approximate':
      return someBytes(filter.attribute, compileEqual(filter.value));
    case 'greaterOrEqual':
    case 'lessOrEqual':
      return someText(filter.attribute, compileOrder(filter.kind, foldValue(textOf(filter.value))));
    case 'substrings':
      return someText(filter.attribute, compilePieces(filter.pieces));
    case 'extensible':
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

/**
 * Compiles the matches that need neither a schema nor other entries: by the equality rule, and by the bitwise
 * rules of Active Directory, whose numbers have a sign and any number of bits.
 */
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

function someBytes(attribute: string, matches: (value: Buffer) => boolean): EntryPredicate {
  return (entry) => entry.bytesOfSubtypes(attribute).some(matches);
}

function someText(attribute: string, matches: (value: string) => boolean): EntryPredicate {
  return (entry) =>
    entry.bytesOfSubtypes(attribute).some((bytes) => {
      const text = decodeUtf8(bytes);
      return text !== null && matches(foldValue(text));
    });
}

function textOf(value: Buffer): string {
  const text = decodeUtf8(value);
  if (text === null) throw new InvalidFilterError('a value that is not UTF-8 can only be compared with "="');
  return text;
}
