/**
 * Whether an If-None-Match header covers the entity tag (RFC 9110 sections 13.1.2 and 8.8.3.2: weak comparison,
 * a list, or `*` for whatever there is).
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  // Not split at commas: a tag may have one inside its quotes.
  return ifNoneMatch.match(/"[^"]*"/g)?.includes(etag) ?? false;
}
