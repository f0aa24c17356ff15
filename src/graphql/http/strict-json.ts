import { parse as parseJsonSafely } from 'secure-json-parse';

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * Parses JSON that everybody reads alike. Refused are two members of one name, of which parsers take the first, the last or
 * both (RFC 8259 §4), and names that reach into the prototypes of objects.
 * @throws SyntaxError
 */
export function parseUnequivocalJson(text: string): unknown {
  const value: unknown = parseJsonSafely(text, { protoAction: 'error', constructorAction: 'error' });
  // A name that is there twice has two colons, and is one member of what was parsed.
  if (countMembers(value) !== countColons(text)) throw new SyntaxError('Two members have one name');
  return value;
}

/** Of all objects. Not recursive: a text can nest deeper than the stack is. */
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

/** Outside of strings, where each stands in a member. The text is JSON. */
function countColons(text: string): number {
  let colons = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === COLON) colons++;
    else if (character === QUOTE) at = endOfString(text, at);
  }
  return colons;
}

/** @param start where it begins, as the result is where it ends: at a quote */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** A backslash may itself be escaped: an odd number of them is what counts. */
function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text.charCodeAt(start - 1) === BACKSLASH) start--;
  return (at - start) % 2 === 1;
}
