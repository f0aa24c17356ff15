import { Args, ArgsType, Context, Field, Info, Query, Resolver } from '@nestjs/graphql';
import type { GraphQLResolveInfo } from 'graphql';
import { RequireScopes } from '../auth/access.js';
import { NotFoundError, ServiceError } from '../common/errors.js';
import { DependsOn } from '../graphql/cache/cache-policy.decorator.js';
import { Direct } from '../graphql/schema/direct.decorator.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { objectSelection } from '../graphql/analysis/selection.js';
import { GroupInput } from '../groups/group.inputs.js';
import { Group } from '../groups/group.model.js';
import { Profile } from '../users/profile.model.js';
import { UserInput } from '../users/user.inputs.js';
import { User } from '../users/user.model.js';
import { LookupService } from './lookup.service.js';

@ArgsType()
class GroupArguments {
  @Field(() => GroupInput, { description: 'Which group.' })
  group!: GroupInput;
}

@ArgsType()
class UserArguments {
  @Field(() => UserInput, { description: 'Which person.' })
  user!: UserInput;
}

/** One person, one group, oneself. */
@Resolver()
export class LookupResolver {
  constructor(private readonly lookup: LookupService) {}

  @Direct()
  @RequireScopes('read')
  @DependsOn('mirror')
  @Query(() => Group, { nullable: true, description: 'One group; NOT_FOUND when none has the id.' })
  async group(
    _root: unknown,
    @Args() { group: { id } }: GroupArguments,
    @Context() context: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Group> {
    const group = await this.lookup.findGroup(id, objectSelection(info, 'members'), context);
    if (group === null) throw new NotFoundError('There is no group with this id', 'group');
    return group;
  }

  @Direct()
  @RequireScopes('read')
  @DependsOn('mirror')
  @Query(() => User, { nullable: true, description: 'One person; NOT_FOUND when nobody has the id.' })
  async user(
    _root: unknown,
    @Args() { user: { id } }: UserArguments,
    @Context() context: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<User> {
    const user = await this.lookup.findUser(id, objectSelection(info, 'groups'), context);
    if (user === null) throw new NotFoundError('There is no person with this id', 'user');
    return user;
  }

  @Direct()
  @RequireScopes('profile')
  @DependsOn('mirror', 'subject')
  @Query(() => Profile, {
    nullable: true,
    description: 'The person that the token acts for; NO_USER_CONTEXT when it acts for nobody.',
  })
  async profile(
    _root: unknown,
    _given: unknown,
    @Context() context: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Profile> {
    const subject = context.principal?.subject ?? null;
    const user =
      subject === null ? null : await this.lookup.findUser(subject, objectSelection(info, 'groups'), context);
    if (user === null) {
      const message = 'This token acts for nobody of the directory: there is no profile';
      throw new ServiceError('NO_USER_CONTEXT', message);
    }
    return new Profile(user);
  }
}
