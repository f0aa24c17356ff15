import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { BasicStrategy as PassportBasicStrategy } from 'passport-http';
import { REALM } from '../../http/rejection.js';
import { UnauthenticatedError } from '../authentication.error.js';
import { parseBasic } from '../authorization-header.js';
import { ServiceAccountVerifier } from '../service-account-verifier.js';
import type { VerifiedToken } from '../tokens/token-verifier.js';

/**
 * passport-http cuts the secret at a second colon. RFC 7617 §2 splits at the first one only, so this class splits, and
 * passes both parts on percent-encoded, where they contain no colon.
 */
class FirstColonStrategy extends PassportBasicStrategy {
  override authenticate(request: Request, options?: object): void {
    const credentials = parseBasic((request.headers.authorization ?? '').replace(/^Basic /, ''));
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
