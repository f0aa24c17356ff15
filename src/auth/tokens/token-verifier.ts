import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { createLocalJWKSet, type JWTPayload } from 'jose';
import { ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { UnauthenticatedError } from '../authentication.error.js';
import { RejectedTokens } from './rejected-tokens.js';
import { EmbeddedIssuer, IssuerKeys } from './issuer-keys.js';
import { ExternalIssuer, type Introspection, isAboutAccessToken } from './external-issuer.js';
import {
  CLOCK_TOLERANCE,
  type Expected,
  isJwt,
  mayHaveNewKey,
  rejectionReason,
  rejectInvalidClaims,
  verifyJwt,
} from './jwt.js';
import { hasServiceAccountSecret } from './service-account-token.js';
import { type Principal, type PrincipalKind, parseScopes } from '../principal.js';

/** Time for which a verified JWT is cached. It is short, because an issuer may withdraw a key. */
const JWT_CACHE_SECONDS = 600;
/** Time for which an introspection is cached. */
const INTROSPECTION_CACHE_SECONDS = 60;

/** A principal, and when it may be cached (milliseconds since 1970): the clock may be set back. */
export interface VerifiedToken {
  readonly principal: Principal;
  readonly cacheFrom: number;
  readonly cacheUntil: number;
}

/** Verifies access tokens: JWTs by the keys of the issuer (RFC 9068), opaque ones by introspection (RFC 7662). */
@Injectable()
export class TokenVerifier {
  private readonly external: ExternalIssuer | null;
  private readonly issuerKeys: IssuerKeys | null;
  private readonly expected: Expected;
  /** Whether an introspection without `aud` is accepted. */
  private readonly mayLackAudience: boolean;
  private readonly rejectedTokens = new RejectedTokens();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly embedded: EmbeddedIssuer,
  ) {
    const { issuer, introspection } = config.auth;
    const external = issuer === null ? null : new ExternalIssuer(issuer, config.auth);
    this.external = external;
    this.mayLackAudience = introspection?.mayLackAudience === true;
    this.issuerKeys = external === null ? null : new IssuerKeys(() => external.fetchKeys());
    const issuers = issuer === null ? [config.baseUrl] : [issuer, `${issuer}/`];
    this.expected = { issuers, audience: config.auth.audience };
  }

  /**
   * @param address of the client
   * @throws UnauthenticatedError if the token is not valid
   * @throws ServiceError RATE_LIMITED after too many invalid tokens from the address
   * @throws ServiceUnavailableError if the token cannot be verified at the moment
   */
  async verify(token: string, address: string): Promise<VerifiedToken> {
    if (isJwt(token)) return this.verifyJwt(token);
    if (hasServiceAccountSecret(token)) {
      // The issuer must not see it.
      throw UnauthenticatedError.badToken(
        'it is the token of a service account: send it as Basic, not Bearer',
      );
    }
    const { external } = this;
    if (external?.canIntrospect !== true) throw UnauthenticatedError.badToken('it is not a JWT');
    return this.rejectedTokens.introspect(token, address, () => this.introspect(token, external));
  }

  private async verifyJwt(token: string): Promise<VerifiedToken> {
    let payload: JWTPayload;
    try {
      rejectInvalidClaims(token, this.expected);
      payload = await this.verifySignature(token);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw UnauthenticatedError.badToken(rejectionReason(error), { cause: error });
    }
    const now = Date.now();
    const expiresAt = (payload.exp ?? 0) * 1000;
    return {
      principal: this.principalOf(
        { ...claimsOf(payload), expiresAt: new Date(expiresAt) },
        kindOfToken(payload),
        token,
      ),
      cacheFrom: now,
      cacheUntil: Math.min(now + JWT_CACHE_SECONDS * 1000, expiresAt + CLOCK_TOLERANCE * 1000),
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
    this.rejectInvalid(introspection, now);
    const expiresAt = introspection.exp === undefined ? null : introspection.exp * 1000;
    return {
      principal: this.principalOf(
        {
          subject: introspection.sub ?? null,
          clientId: introspection.client_id ?? null,
          scope: introspection.scope ?? '',
          expiresAt: expiresAt === null ? null : new Date(expiresAt),
        },
        kindOfToken(introspection),
        token,
      ),
      cacheFrom: now,
      cacheUntil: Math.min(now + INTROSPECTION_CACHE_SECONDS * 1000, expiresAt ?? Infinity),
    };
  }

  private principalOf(claims: Claims, kind: PrincipalKind, token: string): Principal {
    const { subject, clientId, scope, expiresAt } = claims;
    return Object.freeze({
      kind,
      countedAs: countedAs(claims, token),
      scopes: new Set(parseScopes(scope, this.config.scopes)),
      clientId,
      // RFC 9068 §2.2: a client that acts for itself has its own id as subject. It is no user, even if a user has the same
      // id.
      subject: subject === clientId ? null : subject,
      serviceAccountId: null,
      expiresAt,
    });
  }

  /** «Active» means that the issuer knows the token. It may be for another service, or expired by the clock of this one. */
  private rejectInvalid(introspection: Introspection, now: number): void {
    const { iss, aud, exp, nbf, iat, cnf } = introspection;
    const { issuers, audience } = this.expected;
    const seconds = now / 1000;
    const checks: [isRejected: boolean, reason: string][] = [
      [!isAboutAccessToken(introspection), 'it is not an access token'],
      [(cnf ?? null) !== null, 'it is bound to a key, and no proof of that key is accepted'],
      [iss !== undefined && !issuers.includes(iss), 'it is of another issuer'],
      [aud === undefined && !this.mayLackAudience, 'it is for no audience'],
      [aud !== undefined && ![aud].flat().includes(audience), 'it is for another audience'],
      [exp !== undefined && exp + CLOCK_TOLERANCE <= seconds, 'it has expired'],
      [Math.max(nbf ?? 0, iat ?? 0) - CLOCK_TOLERANCE > seconds, 'it is not valid yet'],
    ];
    const [, reason] = checks.find(([isRejected]) => isRejected) ?? [];
    if (reason !== undefined) throw UnauthenticatedError.badToken(reason);
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
    // RFC 9068 §2.2 requires client_id. Keycloak sends azp instead, a claim of ID tokens.
    clientId: textOf('client_id') ?? textOf('azp'),
    scope: textOf('scope') ?? '',
  };
}

/** Claims of a JWT, or members of an introspection, that depend on the grant of the token. */
export interface GrantClaims {
  readonly sub?: unknown;
  readonly client_id?: unknown;
  readonly gty?: unknown;
  readonly grant_type?: unknown;
}

/**
 * People get tokens for their own scripts by the client-credentials grant: the subject is the client itself (RFC
 * 9068 §2.2), or a claim `gty` or `grant_type` names the grant. All others are tokens of applications.
 */
export function kindOfToken({ sub, client_id, gty, grant_type }: GrantClaims): PrincipalKind {
  const isOfClient = typeof client_id === 'string' && sub === client_id;
  const grants = [gty, grant_type].flat();
  return isOfClient || grants.some(isClientCredentials) ? 'PERSONAL_ACCESS_TOKEN' : 'ACCESS_TOKEN';
}

/** With an underscore as in RFC 6749 §4.4.2, or with a hyphen as at Auth0. */
function isClientCredentials(grant: unknown): boolean {
  return grant === 'client_credentials' || grant === 'client-credentials';
}

/** A token without a subject and a client, which RFC 7662 §2.2 allows, is counted on its own. JSON, because ids may contain any separator. */
function countedAs({ subject, clientId }: Claims, token: string): string {
  const isAnonymous = subject === null && clientId === null;
  return `token:${isAnonymous ? createHash('sha256').update(token).digest('base64url') : JSON.stringify([subject, clientId])}`;
}
