import { Query, Resolver } from '@nestjs/graphql';
import { RequireToken, CurrentPrincipal } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { CachePolicy } from '../graphql/cache/cache-policy.decorator.js';
import { ServiceAccount } from './service-account.model.js';
import { ServiceAccountsService } from './service-accounts.service.js';

@Resolver()
export class ServiceAccountsResolver {
  constructor(private readonly accounts: ServiceAccountsService) {}

  @RequireToken()
  @CachePolicy('request')
  @Query(() => ServiceAccount, {
    nullable: true,
    description: 'The service account that makes the request. Null for access tokens.',
  })
  currentServiceAccount(@CurrentPrincipal() principal: Principal | null): Promise<ServiceAccount | null> {
    return this.accounts.findCurrent(principal);
  }
}
