/** RFC 9110 §8.8.3. Node decodes bytes above ASCII as ISO 8859-1. */
const OPAQUE_TAG = '"[!#-~\\x80-\\xff]*"';
/** A list may have empty elements (RFC 9110 §5.6.1.2). */
const ELEMENT = `[ \\t]*(?:(?:W/)?${OPAQUE_TAG}[ \\t]*)?`;
const LIST = new RegExp(`^${ELEMENT}(?:,${ELEMENT})*$`);
const OPAQUE_TAGS = new RegExp(OPAQUE_TAG, 'g');

/**
 * Returns whether an If-None-Match header matches the entity tag of a representation (RFC 9110 §13.1.2 and §8.8.3.2: weak
 * comparison, a list, or `*`). A malformed header is no condition.
 * @param etag with its quotes, and without `W/`
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (/^[ \t]*\*[ \t]*$/.test(ifNoneMatch)) return true;
  // The header is not split at commas, because a tag may contain one inside its quotes.
  return LIST.test(ifNoneMatch) && ifNoneMatch.match(OPAQUE_TAGS)?.includes(etag) === true;
}
