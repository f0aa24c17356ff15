import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose';

/** Asymmetric only: with a symmetric algorithm, anyone who knows the public key could sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
/** Seconds by which the clock of the issuer may differ. */
export const CLOCK_TOLERANCE = 60;
/** Seconds since 1970 that a Date can hold (ECMA-262 §21.4.1.1). */
export const LATEST_INSTANT = 8.64e12;

export interface Expected {
  /** All spellings of the issuer: some end with a slash, which the setting never does. */
  readonly issuers: readonly string[];
  readonly audience: string;
}

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

/** Rejects claims that cannot be valid, so that such tokens cause no requests for keys. Throws JOSEError. */
export function rejectInvalidClaims(token: string, { issuers }: Expected): void {
  if (!isCanonical(token)) throw new errors.JWTInvalid('Not the canonical spelling');
  const payload = decodeJwt(token);
  if (payload.iss === undefined || !issuers.includes(payload.iss)) throw wrongClaim(payload, 'iss');
  if (!isText(payload.sub)) throw wrongClaim(payload, 'sub');
  if (typeof payload.exp !== 'number' || payload.exp > LATEST_INSTANT) throw wrongClaim(payload, 'exp');
  const now = Date.now() / 1000;
  if (payload.exp + CLOCK_TOLERANCE <= now) throw new errors.JWTExpired('Expired', payload, 'exp');
  // jose accepts tokens that were issued in the future.
  if (payload.iat !== undefined && payload.iat - CLOCK_TOLERANCE > now) throw wrongClaim(payload, 'iat');
  // RFC 7800: a token that is bound to a key needs a proof of possession, and no proof is supported.
  if ((payload['cnf'] ?? null) !== null) throw wrongClaim(payload, 'cnf');
}

function isText(claim: unknown): boolean {
  return typeof claim === 'string' && claim !== '';
}

/** Whether each part is canonical Base64url (RFC 7515 §2), so that a token has one spelling in the caches. */
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}

/** Verifies an access token (RFC 9068 §4) with the keys of its issuer. Throws JOSEError. */
export async function verifyJwt(
  token: string,
  keys: JWTVerifyGetKey,
  { issuers, audience }: Expected,
): Promise<JWTPayload> {
  const options: JWTVerifyOptions = {
    issuer: [...issuers],
    audience,
    typ: 'at+jwt',
    algorithms: ALGORITHMS,
    requiredClaims: ['exp', 'sub'],
    clockTolerance: CLOCK_TOLERANCE,
  };
  try {
    return (await jwtVerify(token, keys, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    return verifyWithAny(token, error, options);
  }
}

/** For tokens that do not name their key, while the issuer has several keys. */
async function verifyWithAny(
  token: string,
  keys: errors.JWKSMultipleMatchingKeys,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  for await (const key of keys) {
    try {
      return (await jwtVerify(token, key, options)).payload;
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
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'cnf') return 'it is bound to a key, and no proof of that key is accepted';
    const claim = ['iss', 'aud', 'typ', 'exp', 'nbf', 'iat', 'sub'].find((name) => name === error.claim);
    return claim === undefined ? 'a claim is wrong' : `its ${claim} is wrong or missing`;
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong';
  if (error instanceof errors.JWKSNoMatchingKey) return 'its key is not known';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not allowed';
  return 'it is malformed';
}

function wrongClaim(payload: JWTPayload, claim: string): errors.JWTClaimValidationFailed {
  return new errors.JWTClaimValidationFailed(`Wrong ${claim}`, payload, claim, 'check_failed');
}
