import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ServiceAccountVerifier } from '../auth/oauth.guard.js';
import { DatabaseServiceAccountVerifier } from './database-service-account-verifier.js';
import { DemoServiceAccount } from './demo-service-account.js';
import { ServiceAccountEntity } from './service-account.entity.js';
import { ServiceAccountsResolver } from './service-accounts.resolver.js';
import { ServiceAccountsService } from './service-accounts.service.js';

/** Accounts of programs. Global, because AuthModule needs the verifier. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([ServiceAccountEntity])],
  providers: [
    DemoServiceAccount,
    ServiceAccountsResolver,
    ServiceAccountsService,
    { provide: ServiceAccountVerifier, useClass: DatabaseServiceAccountVerifier },
  ],
  exports: [DemoServiceAccount, ServiceAccountsService, ServiceAccountVerifier],
})
export class ServiceAccountsModule {}
