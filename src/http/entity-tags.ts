/**
 * Returns whether an If-None-Match header matches the entity tag of a representation (RFC 9110 §13.1.2 and §8.8.3.2: weak
 * comparison, a list, or `*`).
 * @param etag with its quotes, and without `W/`
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  // The header is not split at commas, because a tag may contain one inside its quotes.
  return ifNoneMatch?.trim() === '*' || ifNoneMatch?.match(/"[^"]*"/g)?.includes(etag) === true;
}
