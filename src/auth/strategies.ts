import type { IncomingMessage } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { BasicStrategy as HttpBasicStrategy } from 'passport-http';
import { Strategy as HttpBearerStrategy } from 'passport-http-bearer';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { DEMO_ACCOUNT, EMBEDDED_REFUSAL, mayUseEmbedded } from '../config/settings/service.js';
import { TokenVerifier, type VerifiedToken } from './tokens/token-verifier.js';

/** What the guard gives Passport of a request. */
export type PassedHeaders = Pick<IncomingMessage, 'headers'>;

/** Verifies the secret of a service account. The module of service accounts, a layer above, provides it. */
export abstract class ServiceAccountVerifier {
  /** @throws UnauthenticatedError if the account is unknown, expired or revoked, or the secret is wrong */
  abstract verify(id: string, secret: string): Promise<VerifiedToken>;
}

/** `Authorization: Bearer` (RFC 6750 §2.1). The guard gives Passport the header only, so tokens elsewhere are not read. */
@Injectable()
export class BearerStrategy extends PassportStrategy(HttpBearerStrategy, 'bearer') {
  constructor(private readonly verifier: TokenVerifier) {
    super();
  }

  validate(token: string): Promise<VerifiedToken> {
    return this.verifier.verify(token);
  }
}

/** `Authorization: Basic` (RFC 7617): a service account. */
@Injectable()
export class BasicStrategy extends PassportStrategy(HttpBasicStrategy, 'basic') {
  constructor(
    private readonly serviceAccounts: ServiceAccountVerifier,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    super({ passReqToCallback: true });
  }

  async validate(request: PassedHeaders, id: string, secret: string): Promise<VerifiedToken> {
    // The token of the demonstration is for this machine. With an external issuer its id has no special meaning.
    const isDemo = this.config.auth.issuer === null && id === DEMO_ACCOUNT;
    if (isDemo && !mayUseEmbedded(this.config, request.headers.host))
      throw new ServiceError('FORBIDDEN', EMBEDDED_REFUSAL);
    return this.serviceAccounts.verify(id, secret);
  }
}
