import { foldPiece, foldValue } from '../naming/case-ignore-match.js';
import { decodeUtf8, type Entry } from '../entry.js';
import { type Filter, InvalidFilterError, parseFilter } from './filter-parser.js';

type EntryPredicate = (entry: Entry) => boolean;

/**
 * Compiles a search filter (RFC 4515) to a predicate, to select entries without a server. No schema is used:
 * every value is compared by caseIgnoreMatch, `>=` and `<=` compare by the order of characters, and `~=` is
 * the same as `=` (RFC 4511 §4.5.1.7.6 permits that). A value that is not UTF-8 matches only the same bytes.
 * `(cn=…)` does not match `cn;lang-fr`.
 * @throws {InvalidFilterError} for malformed text, and for matches that need a server
 */
export function compileFilter(text: string): EntryPredicate {
  return compile(parseFilter(text));
}

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
      return (entry) => entry.bytes(filter.attribute).length > 0;
    case 'equal':
    case 'approximate':
      return compileEquality(filter.attribute, filter.value);
    case 'greaterOrEqual':
    case 'lessOrEqual': {
      const bound = foldValue(textOf(filter.value));
      const isGreater = filter.kind === 'greaterOrEqual';
      return someText(filter.attribute, (value) => (isGreater ? value >= bound : value <= bound));
    }
    case 'substrings':
      return someText(filter.attribute, compilePieces(filter.pieces));
  }
}

function compileEquality(attribute: string, value: Buffer): EntryPredicate {
  const text = decodeUtf8(value);
  if (text === null) {
    return (entry) => entry.bytes(attribute).some((candidate) => candidate.equals(value));
  }
  const folded = foldValue(text);
  return someText(attribute, (candidate) => candidate === folded);
}

/** Matches the pieces in order and without overlap: the first at the beginning, the last at the end. */
function compilePieces(pieces: readonly Buffer[]): (value: string) => boolean {
  const folded = pieces.map((piece) => foldPiece(textOf(piece)));
  // The ends of a value are trimmed, so a space there could never match.
  const initial = (folded[0] ?? '').trimStart();
  const final = (folded.at(-1) ?? '').trimEnd();
  const inner = folded.slice(1, -1);
  return (value) => {
    if (!value.startsWith(initial)) {
      return false;
    }
    let position = initial.length;
    for (const piece of inner) {
      const found = value.indexOf(piece, position);
      if (found === -1) {
        return false;
      }
      position = found + piece.length;
    }
    return value.length - final.length >= position && value.endsWith(final);
  };
}

function someText(attribute: string, matches: (value: string) => boolean): EntryPredicate {
  return (entry) =>
    entry.bytes(attribute).some((bytes) => {
      const text = decodeUtf8(bytes);
      return text !== null && matches(foldValue(text));
    });
}

function textOf(value: Buffer): string {
  const text = decodeUtf8(value);
  if (text === null) {
    throw new InvalidFilterError('a value that is not UTF-8 can only be compared with "="');
  }
  return text;
}
