/**
 * Letters that Unicode does not decompose, and their usual transcriptions. Lower case only. `ς` is σ at the end of a
 * word: lower-casing chooses between the two by the neighboring letters, which differ in a search.
 */
const TRANSCRIPTIONS = 'ß ss æ ae œ oe ø o ł l đ d ð d þ th ħ h ı i ŋ n ŧ t ĸ k ς σ'.matchAll(/(\S+) (\S+)/g);
const SPELLED_OUT = new Map([...TRANSCRIPTIONS].map(([, letter = '', text = '']) => [letter, text]));
const SPELLED_OUT_PATTERN = new RegExp(`[${[...SPELLED_OUT.keys()].join('')}]`, 'gu');

/** Apostrophes, also typographic ones, those of transliterations, and accents that are typed for them. */
const APOSTROPHES = /['`´\u02B9-\u02BF\u2018\u2019\u201B\u2032\uA78B\uA78C\uFF07\uFF40]/gu;
const DASHES = /[\p{Pd}\u2212]/gu;
/** In other scripts, marks are vowels, tones or part of the letter. */
const MARKED_LETTERS =
  /([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}])\p{M}+/gu;

/** Text of which only the case is folded. Most text is. */
const ORDINARY = /^(?:[!-_a-~]| (?! ))*$/;

/**
 * Folds text for comparison: case, accents, compatibility forms (NFKC), forms of apostrophes and dashes, white space,
 * control and invisible characters are ignored. The result has no NUL, which PostgreSQL cannot store. Normalization
 * takes quadratic time: text of clients goes through `parseSearch` and `foldId`, which limit its length.
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
    .replace(SPELLED_OUT_PATTERN, (letter) => SPELLED_OUT.get(letter) ?? letter)
    .normalize('NFC')
    .replace(/[\s\p{C}]+/gu, ' ');
}
