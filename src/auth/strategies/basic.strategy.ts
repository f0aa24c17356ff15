import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { BasicStrategy as PassportBasicStrategy } from 'passport-http';
import { REALM, UnauthenticatedError } from '../authentication.error.js';
import { ServiceAccountVerifier } from '../service-account-verifier.js';
import type { VerifiedToken } from '../tokens/token-verifier.js';

/** The two parts of a header (RFC 7617 §2), split at the first colon; null: there are none. */
export function readBasic(authorization: string): { id: string; secret: string } | null {
  const [, credentials = ''] = authorization.split(' ');
  const bytes = Buffer.from(credentials, 'base64');
  // Node skips what is no Base64 (RFC 4648 §3.3 says to refuse it): a token has one spelling only.
  if (bytes.toString('base64') !== credentials) return null;
  const decoded = bytes.toString();
  const colon = decoded.indexOf(':');
  return colon < 0 ? null : { id: decoded.slice(0, colon), secret: decoded.slice(colon + 1) };
}

/**
 * The strategy as published cuts the secret at a second colon. RFC 7617 §2 splits at the first one only, so that
 * is done here, and both parts are handed on percent-encoded, where no colon is left to be cut at.
 */
class FirstColonStrategy extends PassportBasicStrategy {
  override authenticate(request: Request, options?: object): void {
    const credentials = readBasic(request.headers.authorization ?? '');
    if (credentials === null) throw UnauthenticatedError.badServiceAccount();
    const encoded = [credentials.id, credentials.secret].map(encodeURIComponent).join(':');
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
