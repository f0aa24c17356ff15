import { Context, Query, Resolver } from '@nestjs/graphql';
import { RequireToken } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { CurrentPrincipal } from '../graphql/current-principal.js';
import type { RequestContext } from '../graphql/request-context.js';
import { CurrentToken } from './current-token.model.js';
import { UsersService } from './users.service.js';

@Resolver()
export class CurrentTokenResolver {
  constructor(private readonly users: UsersService) {}

  @RequireToken()
  @Query(() => CurrentToken, {
    nullable: true,
    description: 'The token that came with this request: what it is good for.',
  })
  currentToken(
    @CurrentPrincipal() principal: Principal | null,
    @Context() { reader }: RequestContext,
  ): Promise<CurrentToken | null> {
    return this.users.describeToken(principal, reader);
  }
}
