import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy } from 'passport-http-bearer';
import { REALM } from '../http/challenges.js';
import { TokenVerifier, type VerifiedToken } from './tokens/token-verifier.js';
import { BasicStrategy as PassportBasicStrategy } from 'passport-http';
import { UnauthenticatedError } from './authentication.error.js';

/** Splits Basic credentials at the first colon (RFC 7617 §2); null if they are malformed. */
export function parseBasic(token: string): { id: string; secret: string } | null {
  const bytes = Buffer.from(token, 'base64');
  // Node skips characters that are not Base64 (RFC 4648 §3.3 requires an error), so each token has one spelling only.
  if (bytes.toString('base64') !== token) return null;
  const decoded = bytes.toString();
  const colon = decoded.indexOf(':');
  return colon < 0 ? null : { id: decoded.slice(0, colon), secret: decoded.slice(colon + 1) };
}

/** Verifies the secret of a service account. The module of service accounts, a layer above, provides it. */
export abstract class ServiceAccountVerifier {
  /** @throws UnauthenticatedError if the account is unknown, expired or revoked, or the secret is wrong */
  abstract verify(id: string, secret: string): Promise<VerifiedToken>;
}

type Verify = (request: Request, token: string, done: (error: unknown, user?: unknown) => void) => void;

/** passport-http-bearer also reads tokens from the query string and the body, so this class passes it the header only. */
class HeaderOnlyStrategy extends Strategy<Verify> {
  override authenticate(request: Request, options?: object): void {
    const { authorization } = request.headers;
    super.authenticate({ headers: { authorization }, ip: request.ip } as Request, options);
  }
}

/** `Authorization: Bearer` (RFC 6750 §2.1). */
@Injectable()
export class BearerStrategy extends PassportStrategy(HeaderOnlyStrategy, 'bearer') {
  constructor(private readonly verifier: TokenVerifier) {
    super({ realm: REALM, passReqToCallback: true });
  }

  validate({ ip = '' }: Request, token: string): Promise<VerifiedToken> {
    return this.verifier.verify(token, ip);
  }
}

/**
 * passport-http cuts the secret at a second colon. RFC 7617 §2 splits at the first one only, so this class splits, and
 * passes both parts on percent-encoded, where they contain no colon.
 */
class FirstColonStrategy extends PassportBasicStrategy {
  override authenticate(request: Request, options?: object): void {
    const credentials = parseBasic((request.headers.authorization ?? '').replace(/^Basic /, ''));
    if (credentials === null) throw UnauthenticatedError.malformedServiceAccount();
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
