import { Global, Module } from '@nestjs/common';
import { Authenticator } from './authenticator.js';
import { BasicStrategy } from './basic.strategy.js';
import { BearerStrategy } from './bearer.strategy.js';
import { EmbeddedIssuer } from './embedded-issuer.js';
import { TokenVerifier } from './token-verifier.js';

/** Who is asking. Needs a ServiceAccountVerifier, which the service accounts' room provides. */
@Global()
@Module({
  providers: [Authenticator, BasicStrategy, BearerStrategy, EmbeddedIssuer, TokenVerifier],
  exports: [Authenticator, EmbeddedIssuer],
})
export class AuthModule {}
