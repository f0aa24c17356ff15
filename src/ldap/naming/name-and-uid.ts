/** The attribute whose values may have a unique identifier after the DN (RFC 4519 §2.40), in lower case. */
export const UNIQUE_MEMBER = 'uniquemember';

const IDENTIFIER = /#'[01]*'B$/;

/**
 * Returns the DN in a value of the syntax Name and Optional UID, such as `cn=a#'0101'B` (RFC 4517 §3.3.21) (pure). The
 * identifier distinguishes entries that used a DN one after another, which no directory does today.
 */
export function dnOfNameAndUid(text: string): string {
  return text.endsWith("'B") ? text.replace(IDENTIFIER, '') : text;
}
