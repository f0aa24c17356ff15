/** The challenge for a service account (RFC 7617 §2). */
export const BASIC_CHALLENGE = 'Basic realm="directory", charset="UTF-8"';

/**
 * The challenge for an access token (RFC 6750 §3), with a Basic one, because each path also takes service accounts. One with
 * other scopes may do what a token may not.
 */
export function bearerChallenge(...parameters: string[]): string {
  return `${['Bearer realm="directory"', ...parameters].join(', ')}, ${BASIC_CHALLENGE}`;
}
