import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { GqlContextType } from '@nestjs/graphql';
import { AuthGuard } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import passport, { type Strategy } from 'passport';
import { ServiceError } from '../common/errors.js';
import { FailedLogins } from '../limits/limits.js';
import { declaredAccess } from './access.js';
import { UnauthenticatedError } from './authentication.error.js';
import type { Principal } from './principal.js';
import { BasicStrategy, BearerStrategy, type PassedHeaders } from './strategies.js';
import { TokenUsers } from './token-users.js';
import { TokenCache } from './tokens/token-cache.js';
import type { VerifiedToken } from './tokens/token-verifier.js';

/** One scheme, spaces and one token68 (RFC 9110 §11.4), and nothing else: Node joins several headers by a comma. */
const AUTHORIZATION = /^(Bearer|Basic) +([A-Za-z0-9\-._~+/]+=*)$/i;

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
  ) {
    super({ defaultStrategy: [register(bearer), register(basic)] });
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType<GqlContextType>() === 'graphql') return true;
    if (declaredAccess(context.getHandler(), context.getClass())?.kind === 'public') return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    request.principal = await this.authenticate(request.raw, request.ip);
    return true;
  }

  /**
   * Null if the request has no token.
   * @throws UnauthenticatedError if the token is not valid, even if no field needs one
   * @throws ServiceError RATE_LIMITED after too many wrong secrets or invalid tokens from the address
   * @throws ServiceUnavailableError if the token cannot be verified at the moment
   */
  async authenticate(request: IncomingMessage, address: string): Promise<Principal | null> {
    const { authorization, host, 'sec-fetch-site': site } = request.headers;
    if (authorization === undefined) return null;
    const [, scheme, token] = AUTHORIZATION.exec(authorization) ?? [];
    if (scheme === undefined || token === undefined) throw UnauthenticatedError.malformedHeader();
    const isBasic = scheme.toLowerCase() === 'basic';
    // A browser remembers Basic credentials and adds them to the requests of other sites, which is never intended.
    if (isBasic && site === 'cross-site') {
      const message = 'A page of another site cannot use a service account: send an access token';
      throw new ServiceError('FORBIDDEN', message);
    }
    const verify = () => this.runStrategies({ authorization: `${scheme} ${token}`, host });
    try {
      const verified = isBasic ? await verify() : await this.tokens.findOrVerify(token, address, verify);
      return await this.users.find(verified.principal);
    } catch (error) {
      // A secret can be guessed. Wrong access tokens are not counted: most of them have expired.
      if (isBasic && error instanceof UnauthenticatedError) await this.failedLogins.count(address);
      throw error;
    }
  }

  override handleRequest<Token>(error: unknown, token: Token | false): Token {
    if (error instanceof Error) throw error;
    if (token === false) throw UnauthenticatedError.malformedHeader();
    return token;
  }

  /** Passport writes to the request that it gets, so it gets one of its own. */
  private async runStrategies(headers: PassedHeaders['headers']): Promise<VerifiedToken> {
    const request = { headers };
    await super.canActivate(new ExecutionContextHost([request]));
    return (request as unknown as { user: VerifiedToken }).user;
  }
}

/** Passport has one registry in a process. Unique names keep the strategies of several applications apart. */
function register(strategy: Strategy): string {
  const name = randomUUID();
  passport.use(name, strategy);
  return name;
}
