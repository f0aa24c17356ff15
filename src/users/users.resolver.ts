import { Args, Context, Query, Resolver } from '@nestjs/graphql';
import { RequireScopes } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { DependsOn } from '../graphql/dependence.js';
import { CurrentPrincipal } from '../graphql/current-principal.js';
import type { RequestContext } from '../graphql/request-context.js';
import { Profile } from './profile.model.js';
import { UserInput } from './user.inputs.js';
import { User } from './user.model.js';
import { UsersService } from './users.service.js';

@Resolver()
export class UsersResolver {
  constructor(private readonly users: UsersService) {}

  @RequireScopes('profile')
  @DependsOn('mirror', 'subject')
  @Query(() => Profile, {
    nullable: true,
    description: 'The person that the token acts for; NO_USER_CONTEXT when it acts for nobody.',
  })
  profile(
    @CurrentPrincipal() principal: Principal | null,
    @Context() { reader }: RequestContext,
  ): Promise<Profile> {
    return this.users.getProfile(principal, reader);
  }

  @RequireScopes('read')
  @DependsOn('mirror')
  @Query(() => User, { nullable: true, description: 'One person; NOT_FOUND when nobody has the id.' })
  user(
    @Args('user', { description: 'Which person.' }) user: UserInput,
    @Context() { reader }: RequestContext,
  ): Promise<User> {
    return this.users.get(user, 'user', reader);
  }
}
