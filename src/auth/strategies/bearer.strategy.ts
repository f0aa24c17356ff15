import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy } from 'passport-http-bearer';
import { REALM } from '../../http/rejection.js';
import { TokenVerifier, type VerifiedToken } from '../tokens/token-verifier.js';

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
