import { parse as parseJsonSafely } from 'secure-json-parse';

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * Parses JSON that has the same meaning for every parser. It rejects duplicate keys, of which parsers use the
 * first, the last or both (RFC 8259 §4), and keys that modify the prototypes of objects.
 * @throws SyntaxError
 */
export function parseStrictJson(text: string): unknown {
  const value: unknown = parseJsonSafely(text, { protoAction: 'error', constructorAction: 'error' });
  // A duplicate key adds a colon to the text, but no member to the parsed value.
  if (countMembers(value) !== countColons(text)) throw new SyntaxError('Two members have one name');
  return value;
}

/**
 * Counts the members of all objects. It is iterative, because a text can nest deeper than the call stack
 * allows.
 */
function countMembers(root: unknown): number {
  let members = 0;
  const pending = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inside: unknown[] = Object.values(value);
    if (!Array.isArray(value)) members += inside.length;
    for (const each of inside) if (typeof each === 'object') pending.push(each);
  }
  return members;
}

/** Counts the colons outside of strings: one for each member. The text must be valid JSON. */
function countColons(text: string): number {
  let colons = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === COLON) colons++;
    else if (character === QUOTE) at = endOfString(text, at);
  }
  return colons;
}

/**
 * Returns the index of the closing quote.
 * @param start index of the opening quote
 */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/**
 * A quote is escaped if an odd number of backslashes precedes it, because a backslash may itself be escaped.
 */
function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text.charCodeAt(start - 1) === BACKSLASH) start--;
  return (at - start) % 2 === 1;
}
