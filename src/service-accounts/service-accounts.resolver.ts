import { Query, Resolver } from '@nestjs/graphql';
import { RequireToken } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { CurrentPrincipal } from '../graphql/http/current-principal.decorator.js';
import { DependsOn } from '../graphql/cache/cache-policy.decorator.js';
import { ServiceAccount } from './service-account.model.js';
import { ServiceAccountsService } from './service-accounts.service.js';

@Resolver()
export class ServiceAccountsResolver {
  constructor(private readonly accounts: ServiceAccountsService) {}

  @RequireToken()
  @DependsOn('request')
  @Query(() => ServiceAccount, {
    nullable: true,
    description: "The service account that asks; null for a person's token.",
  })
  currentServiceAccount(@CurrentPrincipal() principal: Principal | null): Promise<ServiceAccount | null> {
    return this.accounts.findCurrent(principal);
  }
}
