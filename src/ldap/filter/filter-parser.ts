/** The text is not a valid filter, or uses a kind of match that only a server can evaluate. */
export class InvalidFilterError extends Error {
  constructor(reason: string) {
    super(`invalid filter: ${reason}`);
    this.name = 'InvalidFilterError';
  }
}

/** A filter as a tree (RFC 4511 §4.5.1.7). Values are bytes, since an escape may stand for any byte. */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly filters: readonly Filter[] }
  | { readonly kind: 'not'; readonly filter: Filter }
  | { readonly kind: 'present'; readonly attribute: string }
  | {
      readonly kind: 'equal' | 'approximate' | 'greaterOrEqual' | 'lessOrEqual';
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
export interface ExtensibleMatch {
  readonly kind: 'extensible';
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
const KINDS = { '=': 'equal', '~=': 'approximate', '>=': 'greaterOrEqual', '<=': 'lessOrEqual' } as const;

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
  return { filter: { kind: 'extensible', ...match }, end: EXTENSIBLE.lastIndex };
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
