import { Context, ID, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import { InheritAccess, RequireToken } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { CurrentPrincipal } from '../auth/current-principal.decorator.js';
import { CachePolicy } from '../graphql/cache/cache-policy.decorator.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { CurrentToken } from './current-token.model.js';
import { UsersService } from './users.service.js';

@Resolver(() => CurrentToken)
export class CurrentTokenResolver {
  constructor(private readonly users: UsersService) {}

  @RequireToken()
  @CachePolicy('request')
  @Query(() => CurrentToken, {
    nullable: true,
    description: 'The token of this request, with its kind and scopes.',
  })
  currentToken(@CurrentPrincipal() principal: Principal | null): CurrentToken | null {
    return principal === null ? null : new CurrentToken(principal);
  }

  @InheritAccess()
  @CachePolicy('mirror', 'subject')
  @ResolveField(() => ID, {
    nullable: true,
    description: 'The id of the user for whom the token acts. Null if there is none.',
  })
  userId(
    @Parent() { principal }: CurrentToken,
    @Context() { reader }: RequestContext,
  ): Promise<string | null> {
    return this.users.findIdOf(principal, reader);
  }
}
