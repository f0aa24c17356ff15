import { randomUUID } from 'node:crypto';
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
import type { Principal } from './principal.js';
import { BasicStrategy, BearerStrategy } from './strategies.js';
import { TokenUsers } from './token-users.js';
import { TokenCache } from './tokens/token-cache.js';
import type { VerifiedToken } from './tokens/token-verifier.js';

const BASIC = /^Basic\b/i;
/** One scheme, spaces and one token68 (RFC 9110 §11.4), and nothing else: Node joins several headers by a comma. */
const AUTHORIZATION = /^(Bearer|Basic) +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * Reads the credentials of a request; null if it has none.
 * @throws UnauthenticatedError if the header is malformed or there are several
 * @throws ServiceError FORBIDDEN if a page of another site sends Basic credentials
 */
function readAuthorization(request: IncomingMessage): { isBasic: boolean; token: string } | null {
  const { authorization } = request.headers;
  if (authorization === undefined) return null;
  const isBasic = BASIC.test(authorization);
  // A browser remembers Basic credentials and adds them to the requests of other sites, which is never intended.
  if (isBasic && request.headers['sec-fetch-site'] === 'cross-site') {
    const message = 'A page of another site cannot use a service account: send an access token';
    throw new ServiceError('FORBIDDEN', message);
  }
  const [, , token] = AUTHORIZATION.exec(authorization) ?? [];
  if (token === undefined) throw UnauthenticatedError.malformedHeader();
  return { isBasic, token };
}

/** Splits Basic credentials at the first colon (RFC 7617 §2). @throws UnauthenticatedError if they are malformed */
function parseBasic(token: string): { id: string; secret: string } {
  const bytes = Buffer.from(token, 'base64');
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(bytes.toString()) ?? [];
  // Node skips characters that are not Base64 (RFC 4648 §3.3 requires an error), so each token has one spelling only.
  if (bytes.toString('base64') !== token || id === undefined || secret === undefined)
    throw UnauthenticatedError.malformedServiceAccount();
  return { id, secret };
}

/** A rejected login is answered after this time at the earliest, which is longer than its lookup takes. */
const MIN_REJECTION_MS = 5;

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
   * @throws ServiceError RATE_LIMITED after too many wrong secrets or invalid tokens from the address
   * @throws ServiceUnavailableError if the token cannot be verified at the moment
   */
  async authenticate(request: IncomingMessage, address: string): Promise<Principal | null> {
    const credentials = readAuthorization(request);
    if (credentials === null) return null;
    const { isBasic, token } = credentials;
    const { principal } = isBasic
      ? await this.verifySecret(token, request.headers.host, address)
      : await this.tokens.findOrVerify(token, address, () => this.runStrategies(`Bearer ${token}`));
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
  private async runStrategies(authorization: string): Promise<VerifiedToken> {
    const request: { headers: object; user?: VerifiedToken } = { headers: { authorization } };
    await super.canActivate(new ExecutionContextHost([request]));
    if (request.user === undefined) throw UnauthenticatedError.malformedHeader();
    return request.user;
  }

  /** Counts wrong secrets, which can be guessed. Wrong access tokens are not counted: most of them have expired. */
  private async verifySecret(
    token: string,
    host: string | undefined,
    address: string,
  ): Promise<VerifiedToken> {
    // Starts before the lookup, so that the time of the rejection does not depend on what was found.
    const earliest = sleep(MIN_REJECTION_MS);
    try {
      const { id, secret } = parseBasic(token);
      // The token of the demonstration is for this machine. With an external issuer its id has no special meaning.
      if (this.config.auth.issuer === null && id === DEMO_ACCOUNT && !mayUseEmbedded(this.config, host))
        throw new ServiceError('FORBIDDEN', EMBEDDED_REFUSAL);
      // passport-http cuts the secret at a second colon. Percent-encoded, both parts contain none.
      const encoded = [id, secret].map(encodeURIComponent).join(':');
      return await this.runStrategies(`Basic ${Buffer.from(encoded).toString('base64')}`);
    } catch (error) {
      try {
        if (error instanceof UnauthenticatedError) await this.failedLogins.count(address);
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
