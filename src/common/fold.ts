import { BadUserInputError } from './errors.js';

/**
 * Letters that Unicode does not decompose, and their usual transcriptions. Lower case only. `ς` is σ at the end of a word:
 * lower-casing chooses between the two by the neighboring letters, which differ in a search.
 */
const TRANSCRIPTIONS = 'ß ss æ ae œ oe ø o ł l đ d ð d þ th ħ h ı i ŋ n ŧ t ĸ k ς σ'.matchAll(/(\S+) (\S+)/g);
const SPELLED_OUT = Object.fromEntries(
  [...TRANSCRIPTIONS].map(([, letter = '', text = '']) => [letter, text]),
);
const SPELLED_OUT_PATTERN = new RegExp(`[${Object.keys(SPELLED_OUT).join('')}]`, 'gu');

/** Apostrophes, also typographic ones, those of transliterations, and accents that are typed for them. */
const APOSTROPHES = /['`´\u02B9-\u02BF\u2018\u2019\u201B\u2032\uA78B\uA78C\uFF07\uFF40]/gu;
const DASHES = /[\p{Pd}\u2212]/gu;
/** In other scripts, marks are vowels, tones or part of the letter. */
const MARKED_LETTERS =
  /([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}])\p{M}+/gu;

/** Text of which only the case is folded. Most text is. */
const ORDINARY = /^(?:[!-_a-~]| (?! ))*$/;

/** Minimum and maximum number of characters of a search. */
const SHORTEST_SEARCH = 2;
const LONGEST_SEARCH = 64;
/** Maximum number of code units of one composed character (NFC) before composition. */
const UNITS_OF_CHARACTER = 4;
/** Scripts in which one character is a syllable or a word. */
export const SYLLABLES = /[\p{scx=Han}\p{scx=Hangul}\p{scx=Hiragana}\p{scx=Katakana}]/u;

/**
 * Folds text for comparison: case, accents, compatibility forms (NFKC), forms of apostrophes and dashes, white space, control and
 * invisible characters are ignored. The result has no NUL, which PostgreSQL cannot store. Normalization takes quadratic time:
 * text of clients goes through `foldSearch` and `foldId`, which limit its length.
 */
export function fold(text: string): string {
  if (ORDINARY.test(text)) return text.toLowerCase();
  return text
    .toWellFormed()
    .replace(APOSTROPHES, "'")
    .replace(DASHES, '-')
    .normalize('NFKD')
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{Default_Ignorable_Code_Point}+/gu, '')
    .replace(MARKED_LETTERS, '$1')
    .replace(SPELLED_OUT_PATTERN, (letter) => SPELLED_OUT[letter] ?? letter)
    .normalize('NFC')
    .replace(/[\s\p{C}]+/gu, ' ');
}

/** Folds the text of a search. Throws BadUserInputError unless it has 2 to 64 characters, or one of SYLLABLES. */
export function foldSearch(query: string, argument: string): string {
  const length =
    query.length > LONGEST_SEARCH * UNITS_OF_CHARACTER ? Infinity : [...query.normalize('NFC')].length;
  if (length > LONGEST_SEARCH || (length < SHORTEST_SEARCH && !SYLLABLES.test(query))) {
    throw new BadUserInputError(
      `${argument} must have ${SHORTEST_SEARCH} to ${LONGEST_SEARCH} characters, or one of Chinese, Japanese or Korean`,
      argument,
    );
  }
  return fold(query).trim();
}
