import { Args, ArgsType, Context, Field, Info, Query, Resolver } from '@nestjs/graphql';
import { notFound } from '../database/fields/object-table.js';
import { lookupOf } from '../common/identity.js';
import type { GraphQLResolveInfo } from 'graphql';
import { RequireScopes } from '../auth/access.js';
import { ServiceError } from '../common/errors.js';
import type { PageSelection } from '../common/page.js';
import { objectSelection, SelectedPage } from '../graphql/analysis/selection.js';
import { CachePolicy } from '../graphql/cache/cache-policy.decorator.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import type { Connection } from '../graphql/schema/connection.js';
import { Profile, UserInput, User, UserConnection } from './user.model.js';
import { UserListArguments } from './user-list.inputs.js';
import { USER_TABLE } from './user.queries.js';
import { UsersService } from './users.service.js';

@ArgsType()
class UserArguments {
  @Field(() => UserInput, { description: 'The user to return.' })
  user!: UserInput;
}

@Resolver(() => User)
export class UsersResolver {
  constructor(private readonly service: UsersService) {}

  @RequireScopes('read')
  @CachePolicy('mirror')
  @Query(() => User, { nullable: true, description: 'One user. NOT_FOUND if there is no such user.' })
  async user(
    @Args() { user: input }: UserArguments,
    @Context() { reader }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<User> {
    const user = await this.service.findSelected(input, objectSelection(info, 'groups'), reader);
    if (user === null) throw notFound(USER_TABLE, 'user', lookupOf(USER_TABLE, input).by);
    return user;
  }

  @RequireScopes('directory')
  @CachePolicy('mirror')
  @Query(() => UserConnection, {
    nullable: true,
    description: 'All users that the viewer may see, page by page. Rules of visibility leave out the others.',
  })
  users(
    @Args() page: UserListArguments,
    @SelectedPage() selection: PageSelection,
    @Context() { reader }: RequestContext,
  ): Promise<Connection<User>> {
    return this.service.list(page, selection, reader);
  }

  @RequireScopes('profile')
  @CachePolicy('mirror', 'subject')
  @Query(() => Profile, {
    nullable: true,
    description:
      'The user for whom the token acts. NO_USER_CONTEXT if the token acts for no user of the directory.',
  })
  async profile(
    _given: unknown,
    @Context() { principal, reader }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Profile> {
    const id = principal?.subject ?? null;
    const user =
      id === null ? null : await this.service.findSelected({ id }, objectSelection(info, 'groups'), reader);
    if (user !== null) return new Profile(user);
    throw new ServiceError(
      'NO_USER_CONTEXT',
      'The token acts for no user of the directory: there is no profile',
    );
  }
}
