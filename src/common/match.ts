/** The matching rules of RFC 4517 §4.2 by which values are compared. `phone` is telephoneNumberMatch. */
export const MATCHES = ['caseIgnore', 'caseExact', 'phone', 'integer'] as const;
export type Match = (typeof MATCHES)[number];

/** What RFC 4518 §2.2 maps to a space, and to nothing. */
const SPACE = /[\t-\r\u0085\p{Z}]/gu;
const NOTHING = /[\p{Cc}\p{Cf}\p{Variation_Selector}\u034f\u1806\ufffc]/gu;
/** A combining mark makes the space before it significant (RFC 4518 §2.6.1). */
const SPACES = /(?: (?!\p{M}))+/gu;
/** RFC 4517 §4.2.29 ignores spaces and hyphens in a phone number. People also write parentheses, periods, slashes. */
const PUNCTUATION = /[\p{Pd}\u2212\s().\u2044/]/gu;

/**
 * Prepares a value for comparison (RFC 4518): two values are equal for the directory if their prepared texts are. The
 * result has no NUL, which PostgreSQL cannot store. Normalization takes quadratic time: limit the length first.
 * @param isPrefix whether it is the beginning of a value, which can end with a significant space
 */
export function prepareValue(text: string, match: Match, isPrefix = false): string {
  const mapped = text.toWellFormed().replace(SPACE, ' ').replace(NOTHING, '').normalize('NFKC');
  const folded = match === 'caseExact' ? mapped : foldCase(mapped).normalize('NFKC');
  if (match === 'phone') return folded.replace(PUNCTUATION, '');
  const single = folded.replace(SPACES, ' ').replace(/^ (?!\p{M})/u, '');
  const prepared = isPrefix ? single : single.replace(/ $/, '');
  return match === 'integer' ? prepared.replace(/^\+?(-?)0*(?=\d+$)/, '$1') : prepared;
}

/** Full case folding (RFC 3454 B.2): `ß` is `ss`, and `ı` stays different from `i`, although both have one capital. */
function foldCase(text: string): string {
  return text
    .replace(/[^ı]+/g, (part) => part.toLowerCase().toUpperCase().toLowerCase())
    .replaceAll('ς', 'σ');
}
