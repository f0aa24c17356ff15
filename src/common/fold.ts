import { BadUserInputError } from './errors.js';

/**
 * Letters that Unicode does not decompose into a base letter and a mark, and their usual transcriptions.
 * Lower case only, because folding converts to lower case first.
 */
const SPELLED_OUT: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ŋ: 'n',
  ŧ: 't',
  ĸ: 'k',
  // The same letter at the end of a word. Lower-casing chooses between the two by the neighboring letters,
  // which differ in a search.
  ς: 'σ',
};
const SPELLED_OUT_PATTERN = new RegExp(`[${Object.keys(SPELLED_OUT).join('')}]`, 'gu');

/** Maximum length of an id in code units. The mirror takes no longer id. */
export const LONGEST_ID = 256;
/** Matches no id: no folded text has a capital letter. */
const MATCHES_NO_ID = 'TOO LONG';

/** Minimum and maximum number of characters of a search. */
const SHORTEST_SEARCH = 2;
const LONGEST_SEARCH = 64;
/** Maximum number of code units of one composed character (NFC) before composition. */
const UNITS_OF_CHARACTER = 4;

/**
 * Folds text for comparison. Case, accents, compatibility forms (Unicode NFKD), runs of white space or
 * control characters, and invisible characters (soft hyphens, joiners, direction marks) are ignored. The
 * mirror stores folded text and a search folds its query, so that both sides always agree. The result has no
 * NUL, which PostgreSQL text cannot hold.
 *
 * Normalization sorts the marks of a letter, in time quadratic in their number. Text of clients therefore
 * goes through `foldSearch` and `foldId`, which check its length first.
 */
export function fold(text: string): string {
  return text
    .toWellFormed()
    .normalize('NFKD')
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}]+/gu, '')
    .replace(SPELLED_OUT_PATTERN, (letter) => SPELLED_OUT[letter] ?? letter)
    .replace(/[\s\p{C}]+/gu, ' ');
}

/**
 * Folds an id for comparison. LDAP compares `uid` and `cn` without regard to case (RFC 4519). A NUL, which no
 * stored id has and PostgreSQL rejects, becomes another character that no id has. A text longer than any id
 * is not normalized: it becomes a short text that matches no id.
 */
export function foldId(id: string): string {
  if (id.length > LONGEST_ID) return MATCHES_NO_ID;
  return id.toWellFormed().normalize('NFC').toLowerCase().replaceAll('\0', '\uFFFD');
}

/**
 * Folds the text of a search.
 * @throws BadUserInputError when it has fewer than 2 or more than 64 characters
 */
export function foldSearch(query: string, argument: string): string {
  const length =
    query.length > LONGEST_SEARCH * UNITS_OF_CHARACTER ? Infinity : [...query.normalize('NFC')].length;
  if (length < SHORTEST_SEARCH || length > LONGEST_SEARCH) {
    throw new BadUserInputError(
      `${argument} must have ${SHORTEST_SEARCH} to ${LONGEST_SEARCH} characters`,
      argument,
    );
  }
  return fold(query).trim();
}

/**
 * Prepares a text for an exact comparison with stored labels. A longer text is cut to a length at which it
 * still matches none, because labels are shorter than ids. A NUL becomes a character that no label has.
 */
export function asLabel(text: string): string {
  return text.slice(0, LONGEST_ID).toWellFormed().replaceAll('\0', '\uFFFD');
}
