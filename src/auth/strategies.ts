import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { BasicStrategy as HttpBasicStrategy } from 'passport-http';
import { Strategy as HttpBearerStrategy } from 'passport-http-bearer';
import { TokenVerifier, type VerifiedToken } from './tokens/token-verifier.js';

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

/** `Authorization: Basic` (RFC 7617): a service account, whose id and secret the guard has percent-encoded. */
@Injectable()
export class BasicStrategy extends PassportStrategy(HttpBasicStrategy, 'basic') {
  constructor(private readonly serviceAccounts: ServiceAccountVerifier) {
    super();
  }

  validate(id: string, secret: string): Promise<VerifiedToken> {
    return this.serviceAccounts.verify(decodeURIComponent(id), decodeURIComponent(secret));
  }
}
