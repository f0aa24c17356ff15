import { Query, Resolver, Field, ID, ObjectType } from '@nestjs/graphql';
import { RequireToken, CurrentPrincipal, InheritAccess } from '../auth/access.js';
import type { Principal, Scope } from '../auth/principal.js';
import { CachePolicy } from '../graphql/cache/response-cache.js';
import { ServiceAccountsService } from './service-accounts.service.js';
import { DateTime } from '../graphql/schema/derived-fields.js';

@ObjectType({
  description: 'The account of a program. Its requests carry the token of the account and act for no user.',
})
export class ServiceAccount {
  @InheritAccess()
  @Field(() => ID, { description: 'The id, which is the first part of the token.' })
  id!: string;

  @InheritAccess()
  @Field(() => String, { description: 'The name of the program.' })
  name!: string;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The purpose of the account.' })
  description!: string | null;

  @InheritAccess()
  @Field(() => [String], { description: 'The scopes of the account.' })
  scopes!: Scope[];

  @InheritAccess()
  @Field(() => DateTime, { description: 'The time of creation.' })
  createdAt!: Date;

  @InheritAccess()
  @Field(() => DateTime, {
    nullable: true,
    description: 'The time at which the account expires. Null if it does not expire.',
  })
  expiresAt!: Date | null;

  @InheritAccess()
  @Field(() => DateTime, {
    nullable: true,
    description: 'The time of the last use, with a precision of a minute. Null before the first use.',
  })
  lastUsedAt!: Date | null;
}

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
