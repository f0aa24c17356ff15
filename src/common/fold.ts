import { BadUserInputError } from './errors.js';

/**
 * Letters that Unicode does not decompose into a base letter and a mark, and what people type for them.
 * Lower case only: folding lowers first.
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
  // The same letter at the end of a word: lowering decides by its neighbours, and a search has others.
  ς: 'σ',
};
const SPELLED_OUT_PATTERN = new RegExp(`[${Object.keys(SPELLED_OUT).join('')}]`, 'gu');

/** Code units that an id has at most: the mirror takes none that is longer. */
export const LONGEST_ID = 256;
/** Matches no id: no folded text has a capital letter. */
const MATCHES_NO_ID = 'TOO LONG';

/** Characters of a search. */
const SHORTEST_SEARCH = 2;
const LONGEST_SEARCH = 64;
/** Code units that one character of a composed text (NFC) has at most before it is composed. */
const UNITS_OF_CHARACTER = 4;

/**
 * Folds text for comparison: case, accents, compatibility forms (Unicode NFKD) and runs of white space or
 * control characters no longer matter, nor do characters that nobody sees (soft hyphens, joiners, marks of
 * direction). The mirror stores folded text and a search folds what was typed, so both sides always agree. The
 * result has no NUL, which PostgreSQL text cannot hold.
 *
 * Normalization puts the marks of a letter in order, and takes the square of their number: text of clients goes through
 * `foldSearch` and `foldId`, which look at its length first.
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
 * Folds an id for comparison: LDAP compares `uid` and `cn` without regard to case (RFC 4519). A NUL, which no
 * stored id has and PostgreSQL does not accept, becomes a character that no id has either. A text that is longer than
 * an id can be is not normalized: it becomes a short one that matches no id.
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
 * A text that stored labels are compared with as it is. A longer one is cut to where it still matches none: labels are
 * shorter than ids. A NUL becomes a character as above.
 */
export function asLabel(text: string): string {
  return text.slice(0, LONGEST_ID).toWellFormed().replaceAll('\0', '\uFFFD');
}
