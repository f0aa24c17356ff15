import { Global, Module } from '@nestjs/common';
import { Authenticator } from './authenticator.js';
import { BasicStrategy } from './strategies/basic.strategy.js';
import { BearerStrategy } from './strategies/bearer.strategy.js';
import { EmbeddedIssuer } from './tokens/embedded-issuer.js';
import { TokenVerifier } from './tokens/token-verifier.js';

/** Who is asking. Needs a ServiceAccountVerifier, which the service accounts' room provides. */
@Global()
@Module({
  providers: [Authenticator, BasicStrategy, BearerStrategy, EmbeddedIssuer, TokenVerifier],
  exports: [Authenticator, EmbeddedIssuer],
})
export class AuthModule {}
