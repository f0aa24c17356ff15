/** Identifies a secret to people and to scanners for leaked secrets. */
export const SECRET_PREFIX = 'dirsa_';

/** Splits Basic credentials at the first colon (RFC 7617 §2); null if they are malformed. */
export function parseBasic(token: string): { id: string; secret: string } | null {
  const bytes = Buffer.from(token, 'base64');
  // Node skips characters that are not Base64 (RFC 4648 §3.3 requires an error), so each token has one spelling only.
  if (bytes.toString('base64') !== token) return null;
  const decoded = bytes.toString();
  const colon = decoded.indexOf(':');
  return colon < 0 ? null : { id: decoded.slice(0, colon), secret: decoded.slice(colon + 1) };
}

/** Whether a token has the secret of a service account, in any spelling. Some clients send it as an access token. */
export function hasServiceAccountSecret(token: string): boolean {
  return [token, Buffer.from(token, 'base64').toString()].some((text) => text.includes(SECRET_PREFIX));
}
