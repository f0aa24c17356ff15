import { Context, ID, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import { InheritAccess, RequireToken } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { CurrentPrincipal } from '../graphql/http/current-principal.decorator.js';
import { DependsOn } from '../graphql/cache/cache-policy.decorator.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { CurrentToken } from './current-token.model.js';
import { UsersService } from './users.service.js';

@Resolver(() => CurrentToken)
export class CurrentTokenResolver {
  constructor(private readonly users: UsersService) {}

  @RequireToken()
  @DependsOn('request')
  @Query(() => CurrentToken, {
    nullable: true,
    description: 'The token that came with this request: what it is good for.',
  })
  currentToken(@CurrentPrincipal() principal: Principal | null): CurrentToken | null {
    return principal === null ? null : new CurrentToken(principal);
  }

  @InheritAccess()
  @DependsOn('mirror', 'subject')
  @ResolveField(() => ID, {
    nullable: true,
    description: 'The person that it acts for; null when it acts for nobody.',
  })
  userId(
    @Parent() { principal }: CurrentToken,
    @Context() { reader }: RequestContext,
  ): Promise<string | null> {
    return this.users.findIdOf(principal, reader);
  }
}
