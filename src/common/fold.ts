import { BadUserInputError } from './errors.js';

/** Letters that Unicode does not decompose, and their usual transcriptions. Lower case only. */
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
 * Folds text for comparison: case, accents, compatibility forms (NFKD), white space, control and invisible
 * characters are ignored. The result has no NUL, which PostgreSQL cannot store.
 * Normalization takes quadratic time, so text of clients goes through `foldSearch` and `foldId`, which limit its
 * length.
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
 * Folds an id: LDAP compares `uid` and `cn` without case (RFC 4519). A text with NUL, which PostgreSQL rejects,
 * or longer than any id becomes one that matches no id.
 */
export function foldId(id: string): string {
  if (id.length > LONGEST_ID) return MATCHES_NO_ID;
  return id.toWellFormed().normalize('NFC').toLowerCase().replaceAll('\0', '\uFFFD');
}

/** Maximum number of characters of an e-mail address. The mirror takes no longer one. */
const LONGEST_ADDRESS = 512;

/**
 * Folds an e-mail address: ASCII letters only, as the index of the mirror does. RFC 5321 §2.4 makes the domain
 * case-insensitive, and mail systems treat the local part alike.
 */
export function foldAddress(address: string): string {
  if (address.length > LONGEST_ADDRESS) return MATCHES_NO_ID;
  const folded = address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  return folded.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** Folds the text of a search. Throws BadUserInputError unless it has 2 to 64 characters. */
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

/** Prepares a text for comparison with labels. A longer text or one with NUL matches none. */
export function asLabel(text: string): string {
  return text.slice(0, LONGEST_ID).toWellFormed().replaceAll('\0', '\uFFFD');
}
