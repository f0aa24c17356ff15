import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { IdentityProvider } from './identity-provider.js';

/** The embedded OpenID provider, for development and the demonstration: only without an external issuer. */
@Module({ imports: [AuthModule], providers: [IdentityProvider] })
export class IdentityProviderModule {}
