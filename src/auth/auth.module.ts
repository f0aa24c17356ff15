import { Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { OAuthGuard } from './oauth.guard.js';
import { ScopesGuard } from './scopes.guard.js';
import { BasicStrategy, BearerStrategy } from './strategies.js';
import { EmbeddedIssuer } from './tokens/issuer.js';
import { TokenCache } from './tokens/token-cache.js';
import { TokenUsers } from './token-users.js';
import { TokenVerifier } from './tokens/token-verifier.js';

/** Identifies principals and decides what their tokens allow. ServiceAccountsModule provides the ServiceAccountVerifier. */
@Global()
@Module({
  providers: [
    BasicStrategy,
    BearerStrategy,
    EmbeddedIssuer,
    OAuthGuard,
    ScopesGuard,
    TokenCache,
    TokenUsers,
    TokenVerifier,
    // Nest runs global guards in this order.
    { provide: APP_GUARD, useExisting: OAuthGuard },
    { provide: APP_GUARD, useExisting: ScopesGuard },
  ],
  exports: [EmbeddedIssuer, OAuthGuard, TokenCache],
})
export class AuthModule {}
