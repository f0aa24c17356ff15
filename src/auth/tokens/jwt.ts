import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTVerifyGetKey } from 'jose';
import { type Claims, CLOCK_TOLERANCE } from './claims.js';

/** Asymmetric only: with a symmetric algorithm, anyone who knows the public key could sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const OPTIONS = { algorithms: ALGORITHMS, clockTolerance: CLOCK_TOLERANCE };

/** Whether a token has three parts, with a JOSE header as the first. All others are opaque. */
export function isJwt(token: string): boolean {
  if (token.split('.').length !== 3) return false;
  try {
    decodeProtectedHeader(token);
    return true;
  } catch {
    return false; // Not a JOSE header: an opaque token may have dots too.
  }
}

/** The header and the claims of a JWT, before its signature is verified. Throws JOSEError. */
export function decode(token: string): { readonly header: Claims; readonly claims: Claims } {
  if (!isCanonical(token)) throw new errors.JWTInvalid('Not the canonical spelling');
  return { header: { ...decodeProtectedHeader(token) }, claims: decodeJwt(token) };
}

/** Whether each part is canonical Base64url (RFC 7515 §2), so that a token has one spelling in the caches. */
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}

/** Verifies the signature of a token whose claims are right. Throws JOSEError. */
export async function verifySignature(token: string, keys: JWTVerifyGetKey): Promise<void> {
  try {
    await jwtVerify(token, keys, OPTIONS);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    await verifyWithAny(token, error);
  }
}

/** For tokens that do not name their key, while the issuer has several keys. */
async function verifyWithAny(token: string, keys: errors.JWKSMultipleMatchingKeys): Promise<void> {
  for await (const key of keys) {
    try {
      await jwtVerify(token, key, OPTIONS);
      return;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}

/** Whether a token that was rejected with this error may be signed by a key that the issuer has published since. */
export function mayHaveNewKey(token: string, error: unknown): boolean {
  if (error instanceof errors.JWKSNoMatchingKey) return true;
  return (
    error instanceof errors.JWSSignatureVerificationFailed && decodeProtectedHeader(token).kid === undefined
  );
}

/** Why a token is rejected. The messages of jose are not used, because they may contain parts of the token. */
export function rejectionReason(error: unknown): string {
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong';
  if (error instanceof errors.JWKSNoMatchingKey) return 'its key is not known';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not allowed';
  return 'it is malformed';
}
