import { Inject, Injectable } from '@nestjs/common';
import { createLocalJWKSet, type JWTPayload } from 'jose';
import { ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { UnauthenticatedError } from '../authentication.error.js';
import { BadTokens } from './rejected-tokens.js';
import { EmbeddedIssuer } from './embedded-issuer.js';
import { ExternalIssuer, type Introspection } from './external-issuer.js';
import { IssuerKeys } from './issuer-keys.js';
import {
  CLOCK_TOLERANCE,
  type Expected,
  isJwt,
  mayHaveNewKey,
  reasonOf,
  refuseAtSight,
  verifyJwt,
} from './jwt.js';
import { isAboutAccessToken } from './access-tokens-only.js';
import type { Principal, TokenKind } from '../principal.js';
import { kindOfToken } from './token-kind.js';
import { parseScopes } from '../scopes.js';

/** Seconds for which a JWT is believed without another look: a key that its issuer withdraws ends its tokens. */
const JWT_SECONDS = 600;
/** Seconds for which an introspection is believed. */
const INTROSPECTION_SECONDS = 60;

/**
 * A principal, and from when until when, in milliseconds since 1970, the token need not be looked at again. It has a
 * beginning because the clock of the machine may be set back: it would be believed for hours.
 */
export interface VerifiedToken {
  readonly principal: Principal;
  readonly cacheFrom: number;
  readonly cacheUntil: number;
}

/** Decides about access tokens: JWTs by the issuer's keys (RFC 9068), opaque ones by introspection (RFC 7662). */
@Injectable()
export class TokenVerifier {
  private readonly external: ExternalIssuer | null;
  private readonly issuerKeys: IssuerKeys | null;
  private readonly expected: Expected;
  /** Whether an introspection without `aud` is about a token for this service. */
  private readonly mayLackAudience: boolean;
  private readonly badTokens = new BadTokens();

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly embedded: EmbeddedIssuer,
  ) {
    const { issuer, introspection } = config.auth;
    const external = issuer === null ? null : new ExternalIssuer(issuer, introspection);
    this.external = external;
    this.mayLackAudience = introspection?.mayLackAudience === true;
    this.issuerKeys = external === null ? null : new IssuerKeys(() => external.fetchKeys());
    const issuers = issuer === null ? [config.baseUrl] : [issuer, `${issuer}/`];
    this.expected = { issuers, audience: config.auth.audience };
  }

  /**
   * @param address where the token comes from
   * @throws UnauthenticatedError when the token is bad
   * @throws ServiceError RATE_LIMITED when too many from the address were bad
   * @throws ServiceUnavailableError when that cannot be told at the moment
   */
  async verify(token: string, address: string): Promise<VerifiedToken> {
    if (isJwt(token)) return this.verifyJwt(token);
    const { external } = this;
    if (external?.canIntrospect !== true) throw UnauthenticatedError.badToken('it is no JWT');
    return this.badTokens.guard(token, address, () => this.introspect(token, external));
  }

  private async verifyJwt(token: string): Promise<VerifiedToken> {
    let payload: JWTPayload;
    try {
      refuseAtSight(token, this.expected);
      payload = await this.verifySignature(token);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw UnauthenticatedError.badToken(reasonOf(error), { cause: error });
    }
    const now = Date.now();
    const expiresAt = (payload.exp ?? 0) * 1000;
    return {
      principal: principalOf({ ...claimsOf(payload), expiresAt: new Date(expiresAt) }, kindOfToken(payload)),
      cacheFrom: now,
      cacheUntil: Math.min(now + JWT_SECONDS * 1000, expiresAt + CLOCK_TOLERANCE * 1000),
    };
  }

  private verifySignature(token: string): Promise<JWTPayload> {
    if (this.issuerKeys !== null) {
      return this.issuerKeys.verify(
        (keys) => verifyJwt(token, keys, this.expected),
        (error) => mayHaveNewKey(token, error),
      );
    }
    if (this.embedded.jwks === null) throw UnauthenticatedError.badToken('no issuer is trusted');
    return verifyJwt(token, createLocalJWKSet(this.embedded.jwks), this.expected);
  }

  private async introspect(token: string, issuer: ExternalIssuer): Promise<VerifiedToken> {
    const now = Date.now();
    const introspection = await issuer.introspect(token);
    if (!introspection.active) throw UnauthenticatedError.badToken('it is not active');
    this.refuseForeign(introspection, now);
    const expiresAt = introspection.exp === undefined ? null : introspection.exp * 1000;
    return {
      principal: principalOf(
        {
          subject: introspection.sub ?? null,
          clientId: introspection.client_id ?? null,
          scope: introspection.scope ?? '',
          expiresAt: expiresAt === null ? null : new Date(expiresAt),
        },
        kindOfToken(introspection),
      ),
      cacheFrom: now,
      cacheUntil: Math.min(now + INTROSPECTION_SECONDS * 1000, expiresAt ?? Infinity),
    };
  }

  /** «Active» says that the issuer knows the token, not that it is for us or still good by our clock. */
  private refuseForeign(introspection: Introspection, now: number): void {
    const { iss, aud, exp, nbf, iat, cnf } = introspection;
    const seconds = now / 1000;
    if (!isAboutAccessToken(introspection)) throw UnauthenticatedError.badToken('it is no access token');
    if ((cnf ?? null) !== null)
      throw UnauthenticatedError.badToken('it is bound to a key, and no proof of that key is accepted');
    if (iss !== undefined && !this.expected.issuers.includes(iss))
      throw UnauthenticatedError.badToken('it is of another issuer');
    if (aud === undefined && !this.mayLackAudience)
      throw UnauthenticatedError.badToken('it is for no audience');
    if (aud !== undefined && ![aud].flat().includes(this.expected.audience))
      throw UnauthenticatedError.badToken('it is for another audience');
    if (exp !== undefined && exp + CLOCK_TOLERANCE <= seconds)
      throw UnauthenticatedError.badToken('it has expired');
    if (Math.max(nbf ?? 0, iat ?? 0) - CLOCK_TOLERANCE > seconds)
      throw UnauthenticatedError.badToken('it is not valid yet');
  }
}

interface Claims {
  readonly subject: string | null;
  readonly clientId: string | null;
  readonly scope: string;
  readonly expiresAt: Date | null;
}

function claimsOf(payload: JWTPayload): Omit<Claims, 'expiresAt'> {
  const textOf = (claim: string) => (typeof payload[claim] === 'string' ? payload[claim] : null);
  return {
    subject: textOf('sub'),
    // RFC 9068 §2.2 asks for client_id; Keycloak names the application of a person's token by the claim of an ID token only.
    clientId: textOf('client_id') ?? textOf('azp'),
    scope: textOf('scope') ?? '',
  };
}

function principalOf({ subject, clientId, scope, expiresAt }: Claims, kind: TokenKind): Principal {
  return Object.freeze({
    kind,
    countedAs: `token:${subject ?? ''}:${clientId ?? ''}`,
    scopes: new Set(parseScopes(scope)),
    clientId,
    // RFC 9068 §2.2: a client that acts for itself has its own id as subject, and is nobody of the directory,
    // even if somebody there is called the same.
    subject: subject === clientId ? null : subject,
    serviceAccountId: null,
    expiresAt,
  });
}
