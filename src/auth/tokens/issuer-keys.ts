import { Injectable } from '@nestjs/common';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWK,
  jwtVerify,
  type JWTVerifyGetKey,
} from 'jose';
import { ServiceUnavailableError } from '../../common/errors.js';
import { Limit } from '../../limits/limits.js';
import { type Claims, CLOCK_TOLERANCE } from './claims.js';

/** Time after which the keys are read again, so that a withdrawn one becomes invalid, and after a failed attempt. */
const REFRESH_MS = 600_000;
const RETRY_MS = 20_000;
/** Age up to which keys are used while the issuer cannot be reached. */
const MAX_AGE_MS = 24 * 3_600_000;
/** The limit for any tokens of clients and any responses of the issuer. */
const FETCHES_PER_MINUTE = 3;

/**
 * The keys of an external issuer, which jose keeps. A token with an unknown key causes a fetch. If it fails, the error is
 * SERVICE_UNAVAILABLE, because the token may be valid.
 */
export class IssuerKeys {
  private readonly remote: ReturnType<typeof createRemoteJWKSet>;
  private refreshAt = Infinity;

  /** @param clock milliseconds since any instant */
  constructor(
    fetchKeys: () => Promise<JSONWebKeySet>,
    private readonly clock: () => number = () => performance.now(),
  ) {
    const fetches = new Limit('issuer-keys', FETCHES_PER_MINUTE, 60, clock);
    // The address is not used: `fetchKeys` finds it in the metadata of the issuer.
    this.remote = createRemoteJWKSet(new URL('https://issuer.invalid/'), {
      cacheMaxAge: MAX_AGE_MS,
      cooldownDuration: 0,
      [customFetch]: async () => {
        if (!fetches.take('', 1).isTaken)
          throw new ServiceUnavailableError('The key of this token is not known yet: try again shortly');
        const keys = await fetchKeys();
        this.refreshAt = clock() + REFRESH_MS;
        return Response.json(keys);
      },
    });
  }

  /** Finds the key of a token. Throws ServiceUnavailableError if the keys cannot be fetched at the moment. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (this.clock() >= this.refreshAt) {
      // Other tokens do not wait meanwhile. If it fails, the known keys are still used.
      this.refreshAt = this.clock() + RETRY_MS;
      await this.remote.reload().catch(() => undefined);
    }
    try {
      return await this.remote(header, token);
    } catch (cause) {
      if (cause instanceof ServiceUnavailableError || isAboutToken(cause)) throw cause;
      throw new ServiceUnavailableError('The identity provider cannot be reached at the moment', { cause });
    }
  };
}

function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

/** The public keys of the embedded provider, so that this process sends no HTTP requests to itself. */
@Injectable()
export class EmbeddedIssuer {
  /** Null if there is none, or if it has not started. */
  find: JWTVerifyGetKey | null = null;

  publish(jwks: JSONWebKeySet): void {
    this.find = createLocalJWKSet(jwks);
  }
}

/** NIST SP 800-56B §6.2, RFC 7518 §3.3. */
const MIN_EXPONENT = 65_537n;
const MIN_MODULUS_BITS = 2048;

/** Why a published key is rejected; null if it is sound. Only keys of RSA can be weak. */
export function weaknessOf({ kty, n, e }: JWK): string | null {
  if (kty !== 'RSA') return null;
  const exponent = numberOf(e);
  if (exponent < MIN_EXPONENT || exponent % 2n === 0n) return 'its public exponent is below 65537 or even';
  const isShort = numberOf(n).toString(2).length < MIN_MODULUS_BITS;
  return isShort ? `its modulus has fewer than ${MIN_MODULUS_BITS} bits` : null;
}

/** Decodes a Base64url number (RFC 7518 §2); 0 if it is missing. It comes from another server and can be any value. */
function numberOf(text: unknown): bigint {
  return BigInt(`0x0${Buffer.from(typeof text === 'string' ? text : '', 'base64url').toString('hex')}`);
}

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
  return { header: { ...decodeProtectedHeader(token) }, claims: decodeJwt(token) };
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

/** Why a token is rejected. The messages of jose are not used, because they may contain parts of the token. */
export function rejectionReason(error: unknown): string {
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong';
  if (error instanceof errors.JWKSNoMatchingKey) return 'its key is not known';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not allowed';
  return 'it is malformed';
}
