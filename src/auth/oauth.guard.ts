import { randomUUID, hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { GqlContextType } from '@nestjs/graphql';
import { AuthGuard } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import passport, { type Strategy } from 'passport';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { DEMO_ACCOUNT, EMBEDDED_REFUSAL, mayUseEmbedded } from '../config/settings/service.js';
import { FailedLogins } from '../limits/limits.js';
import { declaredAccess } from './access.js';
import { UnauthenticatedError } from './authentication.error.js';
import { BasicStrategy, BearerStrategy, parseBasic } from './strategies.js';
import { TokenUsers } from './token-users.js';
import type { Principal } from './principal.js';
import { CLOCK_TOLERANCE } from './tokens/claims.js';
import type { VerifiedToken } from './tokens/token-verifier.js';
import { countFields } from '../http/malformed-requests.js';
import { LRUCache } from 'lru-cache';
import type { CacheStatistics } from '../common/cache-statistics.js';

/** What an Authorization header contains (RFC 9110 §11.4). */
interface Credentials {
  readonly scheme: 'Bearer' | 'Basic';
  /** The token68 of RFC 9110 §11.2. */
  readonly token: string;
}

const BASIC = /^Basic\b/i;
/** One scheme, spaces and one token, and nothing else. */
const AUTHORIZATION = /^(Bearer|Basic) +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * Reads the credentials of a request; null if it has none.
 * @throws UnauthenticatedError if the header is malformed or there are several
 * @throws ServiceError FORBIDDEN if a page of another site sends Basic credentials
 */
function readAuthorization(request: IncomingMessage): Credentials | null {
  // Node keeps the first of several headers, and they may name different principals.
  if (countFields(request.rawHeaders, 'authorization') > 1) throw UnauthenticatedError.malformedHeader();
  const { authorization } = request.headers;
  if (authorization === undefined) return null;
  // A browser remembers Basic credentials and adds them to the requests of other sites, which is never intended.
  if (BASIC.test(authorization) && request.headers['sec-fetch-site'] === 'cross-site') {
    throw new ServiceError(
      'FORBIDDEN',
      'A page of another site cannot use a service account: send an access token',
    );
  }
  const [, scheme, token] = AUTHORIZATION.exec(authorization) ?? [];
  if (scheme === undefined || token === undefined) throw UnauthenticatedError.malformedHeader();
  return { scheme: scheme.toLowerCase() === 'bearer' ? 'Bearer' : 'Basic', token };
}

/** Where the clock is, in milliseconds, apart from the time that passes. */
const clockOffset = () => Date.now() - performance.now();

/** One entry takes about a kilobyte. */
const MAX_TOKENS = 10_000;

/** Verified tokens, by the SHA-256 of scheme and token: the tokens themselves are not stored. */
@Injectable()
export class TokenCache {
  private readonly verified = new LRUCache<string, { token: VerifiedToken; clock: number }>({
    max: MAX_TOKENS,
  });
  private hits = 0;
  private misses = 0;

  /** The cached token, or else the verified one, which is cached for as long as it says. */
  async findOrVerify(
    { scheme, token }: Credentials,
    verify: () => Promise<VerifiedToken>,
  ): Promise<VerifiedToken> {
    const key = hash('sha256', `${scheme} ${token}`, 'base64');
    const cached = this.verified.get(key);
    if (cached !== undefined && Math.abs(clockOffset() - cached.clock) < CLOCK_TOLERANCE * 1000) {
      this.hits++;
      return cached.token;
    }
    this.misses++;
    const verified = await verify();
    // This time does not depend on the clock. After a leap of the clock, the token is verified again.
    const ttl = Math.floor(verified.cacheFor);
    if (ttl > 0) this.verified.set(key, { token: verified, clock: clockOffset() }, { ttl });
    return verified;
  }

  get statistics(): CacheStatistics {
    const { hits, misses, verified } = this;
    return { hits, misses, entries: verified.size, bytes: null };
  }
}

/** A rejected login is answered after this time at the earliest, which is longer than its lookup takes. */
const MIN_REJECTION_MS = 5;

/** What Passport sees of a request, and where it puts its result. */
interface PassportRequest {
  readonly headers: { readonly authorization: string };
  readonly ip: string;
  user?: VerifiedToken;
}

/**
 * Identifies the principal of a request, by Passport's strategies behind a cache of verified tokens. It is a global guard.
 * The GraphQL endpoint calls it before it reads the body, so that there is one identity for all fields of a request.
 */
@Injectable()
export class OAuthGuard extends AuthGuard() {
  constructor(
    bearer: BearerStrategy,
    basic: BasicStrategy,
    private readonly tokens: TokenCache,
    private readonly users: TokenUsers,
    private readonly failedLogins: FailedLogins,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    super({ defaultStrategy: [register(bearer), register(basic)] });
  }

  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (context.getType<GqlContextType>() === 'graphql') return true;
    const access = declaredAccess(context.getHandler(), context.getClass());
    return access?.kind === 'public' || this.identify(context);
  }

  /**
   * Null if the request has no token.
   * @throws UnauthenticatedError if the token is not valid, even if no field needs one
   * @throws ServiceError RATE_LIMITED after too many wrong secrets from the address
   * @throws ServiceUnavailableError if the token cannot be verified at the moment
   */
  async authenticate(request: IncomingMessage, address: string): Promise<Principal | null> {
    const credentials = readAuthorization(request);
    if (credentials === null) return null;
    const { scheme, token } = credentials;
    const isBasic = scheme === 'Basic';
    if (isBasic) this.rejectRemoteDemo(token, request);
    const presented = { headers: { authorization: `${scheme} ${token}` }, ip: address };
    const { principal } = await this.tokens.findOrVerify(credentials, () =>
      isBasic ? this.verifySecret(presented) : this.runStrategies(presented),
    );
    return this.users.find(principal);
  }

  override handleRequest<Token>(error: unknown, token: Token | false): Token {
    if (error instanceof Error) throw error;
    if (token === false) throw UnauthenticatedError.malformedHeader();
    return token;
  }

  private async identify(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    request.principal = await this.authenticate(request.raw, request.ip);
    return true;
  }

  /** Passport writes to the request that it gets, so it gets one of its own. */
  private async runStrategies(presented: PassportRequest): Promise<VerifiedToken> {
    await super.canActivate(new ExecutionContextHost([presented]));
    if (presented.user === undefined) throw UnauthenticatedError.malformedHeader();
    return presented.user;
  }

  /** The token of the demonstration is for this machine. With an external issuer its id has no special meaning. */
  private rejectRemoteDemo(token: string, { headers }: IncomingMessage): void {
    if (this.config.auth.issuer !== null || parseBasic(token)?.id !== DEMO_ACCOUNT) return;
    if (!mayUseEmbedded(this.config, headers.host)) throw new ServiceError('FORBIDDEN', EMBEDDED_REFUSAL);
  }

  /** Counts wrong secrets, which can be guessed. Wrong access tokens are not counted: most of them have expired. */
  private async verifySecret(presented: PassportRequest): Promise<VerifiedToken> {
    // Starts before the lookup, so that the time of the rejection does not depend on what was found.
    const earliest = sleep(MIN_REJECTION_MS);
    try {
      return await this.runStrategies(presented);
    } catch (error) {
      try {
        if (error instanceof UnauthenticatedError) await this.failedLogins.count(presented.ip);
      } finally {
        // Also beyond the limit of failed logins, whose rejection would otherwise have the duration of the lookup.
        await earliest;
      }
      throw error;
    }
  }
}

/** Passport has one registry in a process. Unique names keep the strategies of several applications apart. */
function register(strategy: Strategy): string {
  const name = randomUUID();
  passport.use(name, strategy);
  return name;
}
