import { Global, Module } from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { CurrentPrincipal, RequireToken } from '../auth/access.js';
import { ServiceAccountVerifier } from '../auth/strategies.js';
import type { Principal } from '../auth/principal.js';
import { CachePolicy } from '../graphql/cache/response-cache.js';
import { DatabaseServiceAccountVerifier } from './database-service-account-verifier.js';
import { DemoServiceAccount } from './demo-service-account.js';
import { ServiceAccountEntity } from './service-account.entity.js';
import { ServiceAccountsService } from './service-accounts.service.js';

@Resolver()
class ServiceAccountsResolver {
  constructor(
    @InjectRepository(ServiceAccountEntity) private readonly accounts: Repository<ServiceAccountEntity>,
  ) {}

  @RequireToken()
  @CachePolicy('request')
  @Query(() => ServiceAccountEntity, {
    nullable: true,
    description: 'The service account that makes the request. Null for access tokens.',
  })
  async currentServiceAccount(
    @CurrentPrincipal() principal: Principal | null,
  ): Promise<ServiceAccountEntity | null> {
    const id = principal?.serviceAccountId ?? null;
    return id === null ? null : this.accounts.findOneBy({ id });
  }
}

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
