import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { BasicStrategy as PassportBasicStrategy } from 'passport-http';
import { REALM, UnauthenticatedError } from './authentication.error.js';
import { ServiceAccountVerifier } from './service-account-verifier.js';
import type { VerifiedToken } from './token-verifier.js';

/**
 * The strategy as published cuts the secret at a second colon. RFC 7617 §2 splits at the first one only, so that
 * is done here, and both parts are handed on percent-encoded, where no colon is left to be cut at.
 */
class FirstColonStrategy extends PassportBasicStrategy {
  override authenticate(request: Request, options?: object): void {
    const [, credentials = ''] = (request.headers.authorization ?? '').split(' ');
    const bytes = Buffer.from(credentials, 'base64');
    // Node skips what is no Base64 (RFC 4648 §3.3 says to refuse it): a token has one spelling only.
    if (bytes.toString('base64') !== credentials) throw UnauthenticatedError.badServiceAccount();
    const decoded = bytes.toString();
    const colon = decoded.indexOf(':');
    if (colon < 0) throw UnauthenticatedError.badServiceAccount();
    const encoded = [decoded.slice(0, colon), decoded.slice(colon + 1)].map(encodeURIComponent).join(':');
    const authorization = `Basic ${Buffer.from(encoded).toString('base64')}`;
    super.authenticate({ headers: { authorization } } as Request, options);
  }
}

/** `Authorization: Basic` (RFC 7617): a service account. */
@Injectable()
export class BasicStrategy extends PassportStrategy(FirstColonStrategy, 'basic') {
  constructor(private readonly serviceAccounts: ServiceAccountVerifier) {
    super({ realm: REALM });
  }

  validate(id: string, secret: string): Promise<VerifiedToken> {
    return this.serviceAccounts.verify(decodeURIComponent(id), decodeURIComponent(secret));
  }
}
