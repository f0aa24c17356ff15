import { BadUserInputError } from '../../common/errors.js';
import { fold } from '../../common/fold.js';
import type { Values } from '../statements/statement.js';

/** A search as it was typed. */
export interface Search {
  readonly folded: string;
  /** The first alternative, all words of which a row has to match; or those of another one. None: no row matches. */
  readonly words: readonly string[];
  readonly alternatives: readonly (readonly string[])[];
}

/** Scripts in which one character is a syllable or a word. */
const SYLLABLES = /[\p{scx=Han}\p{scx=Hangul}\p{scx=Hiragana}\p{scx=Katakana}]/u;
/** What is searched: 2 to 64 characters, or one of SYLLABLES. */
const SEARCHED = new RegExp(`^(?:.{2,64}|${SYLLABLES.source})$`, 'su');
/** What is between words. Other characters are literal, so that none acts as a wildcard or an operator. */
const BETWEEN_WORDS = /(?:[\s+]|(?![-'%&*#?\\_])\p{P})+/u;
/** What is inside words, or between them. */
const INSIDE_WORDS = /[-']/;
/** Maximum number of characters of words that are found without what is between them. */
const LONGEST_JOINED = 64;
/** Maximum number of letters of a name that is found as a whole. The size of an index entry is limited. */
const LONGEST_WHOLE = 256;
/** Maximum number of words by which an index is searched. The others are compared in the rows that it finds. */
const MOST_INDEXED = 3;
/** Text that has a trigram, even if the locale of the database does not count marks and symbols as letters. */
const HAS_TRIGRAM = /[\p{L}\p{N}]{3}/u;
const PHONE_NUMBER = /[+(]*\d(?:[\s()./-]*\d){5,}/;

/** Returns the words of folded text, each as its parts between apostrophes or hyphens. */
function wordsOf(folded: string): string[][] {
  return folded
    .split(BETWEEN_WORDS)
    .map((word) => word.split(INSIDE_WORDS).filter((part) => part !== ''))
    .filter((parts) => parts.length > 0);
}

/** The words, each after a space, then after a line feed what begins with a part of a word, without what is between it and the next. */
export function searchText(values: readonly string[]): string {
  const folded = values.map((value) => fold(value).trim());
  const texts = folded.map(wordsOf);
  const numbers = folded.flatMap((text) => (PHONE_NUMBER.exec(text)?.[0] === text ? digitsOf(text) : []));
  const words = new Set([...texts.flatMap((text) => text.map((parts) => parts.join(''))), ...numbers]);
  const beginnings = texts.flatMap((text) => text.flat().map((_, index, parts) => joined(parts, index)));
  const others = new Set(beginnings.filter((text) => !words.has(text)));
  return [words, others].map((set) => [...set].map((text) => ` ${text}`).join('')).join('\n');
}

function joined(parts: readonly string[], from: number): string {
  return [...parts.slice(from, from + LONGEST_JOINED).join('')].slice(0, LONGEST_JOINED).join('');
}

/** The characters and pairs of characters of the words. */
export function searchPairs(text: string): string[] {
  const found = new Set<string>();
  let before = '';
  for (const character of text) {
    const isBetween = character === ' ' || character === '\n';
    if (!isBetween) found.add(character).add(`${before}${character}`);
    before = isBetween ? '' : character;
  }
  return [...found];
}

/** The pairs of characters of a word, or its only character. */
function pairsOf(word: string): string[] {
  const characters = [...word];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`);
}

/** Equal for the same words in any order, with or without something between them. */
export function lettersOf(folded: string): string {
  return [...wordsOf(folded).flat().join('')].sort().slice(0, LONGEST_WHOLE).join('');
}

/** @throws BadUserInputError when the text is too short or too long */
export function parseSearch(text: string, argument: string): Search {
  const expected = '2 to 64 characters, or one of Chinese, Japanese or Korean';
  // Before composition (NFC), which takes quadratic time, a character has at most 4 code units.
  if (text.length > 4 * 64 || !SEARCHED.test(text.normalize('NFC')))
    throw new BadUserInputError(`${argument} must have ${expected}`, argument);
  const folded = fold(text).trim();
  const [number] = PHONE_NUMBER.exec(folded) ?? [];
  const others = number === undefined ? [] : uniqueWords(folded.replace(number, ' '));
  const words = uniqueWords(folded);
  const numbers = number === undefined ? [] : numbersOf(number).map((digits) => [...others, digits]);
  return { folded, words, alternatives: [words, ...numbers] };
}

function uniqueWords(folded: string): string[] {
  return [...new Set(wordsOf(folded).flat())];
}

/** The digits of a telephone number, as searchText has them: without the mark of an international one. */
function digitsOf(number: string): string {
  return number.replace('(0)', '').replace(/\D/g, '').replace(/^00/, '');
}

/** What the digits of a stored telephone number contain, for the number as it may be typed. */
function numbersOf(typed: string): string[] {
  const digits = digitsOf(typed);
  if (!/^[(]*(?:[+]|00)/.test(typed)) return [digits.replace(/^0/, '')];
  // A number that is stored without its country has a 0 in place of the one to three digits of the country.
  return [digits, ...[1, 2, 3].map((length) => `0${digits.slice(length)}`)];
}

/** SQL condition for the rows in which each word is at the beginning of a word or inside it. */
export function searchCondition(alias: string, { words, alternatives }: Search, values: Values): string {
  if (words.length === 0) return 'false';
  return `(${alternatives.map((each) => conditionOf(alias, each, values)).join(' or ')})`;
}

function conditionOf(alias: string, words: readonly string[], values: Values): string {
  const text = `${alias}.search_text`;
  const indexed = words
    .filter((word) => HAS_TRIGRAM.test(word))
    .sort((one, other) => other.length - one.length)
    .slice(0, MOST_INDEXED)
    .map((word) => `${text} like ${values.add(`%${escapeLike(word)}%`)}::text`);
  const isLong = (word: string) => indexed.length > 0 && [...word].length !== 2;
  const pairs = words.filter((word) => !isLong(word)).flatMap(pairsOf);
  const paired = pairs.length === 0 ? [] : [`${alias}.search_pairs @> ${values.add(pairs)}::text[]`];
  // A letter alone is inside most names.
  const isLetter = /^.$/su.test(words.join()) && !SYLLABLES.test(words.join());
  // A list, because PostgreSQL would search the index for each side of an OR.
  const matched = words.map((word) => {
    if (isLetter) return beginsWords(alias, [word], values);
    const patterns = [`% ${escapeLike(word)}%`, `%${escapeLike(word)}%\n%`];
    return `${text} like any (array[${patterns.map((each) => values.add(each)).join(', ')}]::text[])`;
  });
  return `(${[...indexed, ...paired, ...matched].join(' and ')})`;
}

/** SQL condition for the rows in which each text is at the beginning of a word. */
export function beginsWords(alias: string, texts: readonly string[], values: Values): string {
  return texts
    .map((each) => `${alias}.search_text like ${values.add(`% ${escapeLike(each)}%`)}::text`)
    .join(' and ');
}

/** Escapes all wildcards: user input is never a pattern. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
