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

/**
 * Folds text for comparison: case, accents, compatibility forms (Unicode NFKD) and runs of white space or
 * control characters no longer matter, nor do characters that nobody sees (soft hyphens, joiners, marks of
 * direction). The mirror stores folded text and a search folds what was typed, so both sides always agree. The
 * result has no NUL, which PostgreSQL text cannot hold.
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
 * stored id has and PostgreSQL does not accept, becomes a character that no id has either.
 */
export function foldId(id: string): string {
  return id.toWellFormed().normalize('NFC').toLowerCase().replaceAll('\0', '\uFFFD');
}
