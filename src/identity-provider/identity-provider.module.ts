import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { IdentityProvider } from './identity-provider.js';

/**
 * The embedded OpenID provider, for development and the demonstration. Import it only when no external issuer
 * is configured; the configuration rejects that in production.
 */
@Module({ imports: [AuthModule], providers: [IdentityProvider] })
export class IdentityProviderModule {}
