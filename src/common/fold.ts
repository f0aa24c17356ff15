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
