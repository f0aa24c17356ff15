import { Inject, Injectable } from '@nestjs/common';
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTVerifyGetKey } from 'jose';
import { ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { UnauthenticatedError } from '../authentication.error.js';
import type { Principal } from '../principal.js';
import { type Claims, CLOCK_TOLERANCE, expectedOf, findWrongClaim, readMeaning } from './claims.js';
import { EmbeddedIssuer, ExternalIssuer } from './issuer.js';

/** Asymmetric only: with a symmetric algorithm, anyone who knows the public key could sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

/** The JOSE header of a JWT, before its signature is verified. Null: the token is opaque, which may have dots, too. */
export function headerOf(token: string): Claims | null {
  try {
    return token.split('.').length === 3 ? { ...decodeProtectedHeader(token) } : null;
  } catch {
    return null;
  }
}

/** Verifies the signature of a token whose claims are right. Throws JOSEError. */
export async function verifySignature(token: string, keys: JWTVerifyGetKey): Promise<void> {
  await jwtVerify(token, keys, { algorithms: ALGORITHMS, clockTolerance: CLOCK_TOLERANCE });
}

/** Why a token is rejected. The messages of jose are not used, because they may contain parts of the token. */
export function rejectionReason(error: unknown): string {
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong';
  if (error instanceof errors.JWKSNoMatchingKey) return 'its key is not known';
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'it does not name its key';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not allowed';
  return 'it is malformed';
}

/** Identifies a secret of a service account to people and to scanners for leaked secrets. */
export const SECRET_PREFIX = 'dirsa_';

/** Time for which a verified JWT is cached. It is short, because an issuer may withdraw a key. */
const JWT_CACHE_SECONDS = 600;
const INTROSPECTION_CACHE_SECONDS = 60;

/** A principal, and for how many milliseconds it may be cached. */
export interface VerifiedToken {
  readonly principal: Principal;
  readonly cacheFor: number;
}

/** Verifies access tokens: JWTs by the keys of the issuer (RFC 9068), opaque ones by introspection (RFC 7662). */
@Injectable()
export class TokenVerifier {
  private readonly external;
  private readonly expected;

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly embedded: EmbeddedIssuer,
  ) {
    const { issuer } = config.auth;
    this.external = issuer === null ? null : new ExternalIssuer(issuer, config.auth);
    this.expected = expectedOf(config);
  }

  /**
   * @throws UnauthenticatedError if the token is not valid
   * @throws ServiceUnavailableError if the token cannot be verified at the moment
   */
  async verify(token: string): Promise<VerifiedToken> {
    const header = headerOf(token);
    try {
      const claims = header === null ? await this.introspect(token) : decodeJwt(token);
      // A JWT that cannot be valid causes no request for keys.
      const wrong = findWrongClaim(header, claims, this.expected, Date.now() / 1000);
      if (wrong !== null) throw UnauthenticatedError.badToken(wrong);
      if (header === null) return this.verified(claims, INTROSPECTION_CACHE_SECONDS);
      const { find } = this.external ?? this.embedded;
      if (find === null) throw UnauthenticatedError.badToken('no issuer is trusted');
      await verifySignature(token, find);
      return this.verified(claims, JWT_CACHE_SECONDS);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw UnauthenticatedError.badToken(rejectionReason(error), { cause: error });
    }
  }

  /** «Active» means that the issuer knows the token. It may be for another service, or expired by the clock of this one. */
  private async introspect(token: string): Promise<Claims> {
    // The issuer must not see the secret of a service account, which some clients send as an access token.
    if ([token, Buffer.from(token, 'base64').toString()].some((text) => text.includes(SECRET_PREFIX)))
      throw UnauthenticatedError.badToken(
        'it is the token of a service account: send it as Basic, not Bearer',
      );
    if (!this.external?.config.introspection) throw UnauthenticatedError.badToken('it is not a JWT');
    const { active, ...claims } = await this.external.introspect(token);
    if (!active) throw UnauthenticatedError.badToken('it is not active');
    return claims;
  }

  private verified(claims: Claims, seconds: number): VerifiedToken {
    const { kind, subject, clientId, user, scopes } = readMeaning(claims, this.expected);
    const exp = typeof claims['exp'] === 'number' ? claims['exp'] : null;
    const left = exp === null ? Infinity : exp + CLOCK_TOLERANCE - Date.now() / 1000;
    return {
      principal: Object.freeze({
        kind,
        // JSON, because ids may contain any separator.
        countedAs: `token:${JSON.stringify([subject, clientId])}`,
        scopes: new Set(scopes),
        clientId,
        subject: user,
        serviceAccountId: null,
        expiresAt: exp === null ? null : new Date(exp * 1000),
      }),
      cacheFor: Math.min(seconds, left) * 1000,
    };
  }
}
