/**
 * Returns whether an If-None-Match header matches the entity tag (RFC 9110 §13.1.2 and §8.8.3.2: weak
 * comparison, a list, or `*` for any representation).
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  // The header is not split at commas, because a tag may contain one inside its quotes.
  return ifNoneMatch.match(/"[^"]*"/g)?.includes(etag) ?? false;
}
