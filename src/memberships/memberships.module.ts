import { ShortList } from '../graphql/analysis/operation-cost.js';
import { Module } from '@nestjs/common';
import { Args, Context, Extensions, Info, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import type { GraphQLResolveInfo } from 'graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { InheritAccess, RequireScopes } from '../auth/access.js';
import { pageSelection, rowSelection } from '../graphql/analysis/selection.js';
import { CachePolicy } from '../graphql/cache/response-cache.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import type { Connection } from '../graphql/schema/connection.js';
import { Group, GroupInput, RoleFilter } from '../groups/group.model.js';
import { GroupsModule } from '../groups/groups.module.js';
import { Profile, User, UserInput } from '../users/user.model.js';
import { UsersModule } from '../users/users.module.js';
import { UsersService } from '../users/users.service.js';
import {
  CurrentGroupMembershipInheritance,
  GroupMembership,
  GroupMembershipConnection,
  MemberArguments,
  UserGroupArguments,
} from './membership.model.js';
import { MembershipsService } from './memberships.service.js';

@Resolver(() => Group)
class GroupMembersResolver {
  constructor(private readonly memberships: MembershipsService) {}

  @RequireScopes('read')
  @ResolveField(() => GroupMembershipConnection, {
    nullable: true,
    description:
      'The users that belong to the group, directly or through groups inside it. Each user appears once.',
  })
  members(
    @Parent() group: Group,
    @Args() page: MemberArguments,
    @Context() { batches }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Connection<GroupMembership>> {
    return this.memberships.listMembers(group, page, pageSelection(info), batches);
  }

  @RequireScopes('read')
  @Personal()
  @Extensions({ mostNodes: 1 })
  @ResolveField(() => GroupMembership, {
    nullable: true,
    description:
      'The membership of a user in the group. Null if the user does not belong to it. NOT_FOUND if there is no such user, and ' +
      'FORBIDDEN if the viewer may not see the members.',
  })
  membership(
    @Parent() group: Group,
    @Args('user', { description: 'The user.' }) user: UserInput,
    @Context() context: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<GroupMembership | null> {
    return this.memberships.findMember(group, user, rowSelection(info), context);
  }

  @RequireScopes('read')
  @Personal()
  @CachePolicy('mirror')
  @Query(() => Boolean, {
    nullable: true,
    description:
      'Whether a user belongs to a group, directly or through other groups. NOT_FOUND if one of them does not exist.',
  })
  isMember(
    @Args('user', { description: 'The user.' }) user: UserInput,
    @Args('group', { description: 'The group.' }) group: GroupInput,
    @Args('role', {
      type: () => RoleFilter,
      nullable: true,
      description: 'The role to check for. If omitted, any membership counts.',
    })
    role: RoleFilter | null,
    @Context() context: RequestContext,
  ): Promise<boolean> {
    return this.memberships.isMember(user, group, role ?? null, context);
  }
}

/** The same two fields of a user and of the own profile. */
function groupsOf(type: typeof User | typeof Profile) {
  const userOf = (parent: User | Profile) => (parent instanceof Profile ? parent.user : parent);

  @Resolver(() => type)
  class GroupsResolver {
    constructor(
      private readonly memberships: MembershipsService,
      private readonly users: UsersService,
    ) {}

    @InheritAccess()
    @ResolveField(() => GroupMembershipConnection, {
      nullable: true,
      description:
        'The groups to which the user belongs, directly or through groups inside them. Each group appears once.',
    })
    groups(
      @Parent() parent: User | Profile,
      @Args() page: UserGroupArguments,
      @Context() { batches }: RequestContext,
      @Info() info: GraphQLResolveInfo,
    ): Promise<Connection<GroupMembership>> {
      return this.users.memberships.list(userOf(parent), page, pageSelection(info), batches);
    }

    @InheritAccess()
    @Extensions({ mostNodes: 1 })
    @ResolveField(() => GroupMembership, {
      nullable: true,
      description:
        'The membership of the user in a group. Null if the user does not belong to it. NOT_FOUND if there is no such group, for ' +
        'tokens with the scope `read` or `directory`, and FORBIDDEN if the viewer may not see its members.',
    })
    membership(
      @Parent() parent: User | Profile,
      @Args('group', { description: 'The group.' }) group: GroupInput,
      @Context() context: RequestContext,
      @Info() info: GraphQLResolveInfo,
    ): Promise<GroupMembership | null> {
      return this.memberships.findGroup(userOf(parent), group, rowSelection(info), context);
    }
  }
  return GroupsResolver;
}

@Resolver(() => CurrentGroupMembershipInheritance)
class MembershipRoleResolver {
  constructor(private readonly memberships: MembershipsService) {}

  @InheritAccess()
  @ShortList()
  @ResolveField(() => [Group], {
    description:
      'The groups directly inside the group through which the user has the role `value`. Empty if the group itself names the user for it.',
  })
  inheritedFrom(
    @Parent() role: CurrentGroupMembershipInheritance,
    @Context() { batches }: RequestContext,
  ): Promise<Group[]> {
    return this.memberships.listInheritedFrom(role, batches);
  }
}

@Module({
  imports: [GroupsModule, UsersModule],
  providers: [
    GroupMembersResolver,
    MembershipRoleResolver,
    MembershipsService,
    groupsOf(User),
    groupsOf(Profile),
  ],
  exports: [MembershipsService],
})
export class MembershipsModule {}
