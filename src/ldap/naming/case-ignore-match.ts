/** What makes more than lowering necessary. Most values have none of it. */
const NOT_PLAIN = /[^\x20-\x7e]| {2}/;
const WHITE_SPACE = /[\s\u0085]+/gu;

/**
 * Lowers case and makes every run of white space one space, without trimming the ends: what a piece of a
 * substring needs, whose ends may lie in the middle of a value.
 */
export function foldPiece(text: string): string {
  if (!NOT_PLAIN.test(text)) {
    return text.toLowerCase();
  }
  // Lowering can leave a sequence that is no longer composed, hence the second pass.
  return text.normalize('NFKC').toLowerCase().normalize('NFKC').replace(WHITE_SPACE, ' ');
}

/**
 * Folds a value for comparison by caseIgnoreMatch (RFC 4517 §4.2.11, RFC 4518): case and compatibility forms
 * no longer matter, nor do spaces at the ends or more than one space inside. As in OpenLDAP, letters are
 * lowered one by one: `ß` and `ss` stay different, because a server lets two such entries stand side by side.
 */
export function foldValue(text: string): string {
  return foldPiece(text).trim();
}
