import { normalizeLowerCase } from '../../common/identity.js';

/** Matches text for which converting to lower case is not sufficient. Most values do not match. */
const NOT_PLAIN = /[^\x20-\x7e]| {2}/;
const WHITE_SPACE = /[\s\u0085]+/gu;

/**
 * Converts to lower case and replaces each run of white space by one space. Does not trim the ends: a piece
 * of a substring filter can begin or end in the middle of a value.
 */
export function foldPiece(text: string): string {
  if (!NOT_PLAIN.test(text)) return text.toLowerCase();
  // Converting to lower case can leave a sequence that is no longer composed, hence the second normalization.
  return normalizeLowerCase(text, 'NFKC').normalize('NFKC').replace(WHITE_SPACE, ' ');
}

/**
 * Folds a value for comparison by caseIgnoreMatch (RFC 4517 §4.2.11, RFC 4518): case, compatibility forms,
 * leading, trailing and repeated spaces become insignificant. As in OpenLDAP, `ß` and `ss` stay different,
 * because a server allows two such entries to coexist.
 */
export function foldValue(text: string): string {
  return foldPiece(text).trim();
}
