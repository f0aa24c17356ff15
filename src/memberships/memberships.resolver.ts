import { Args, Context, Info, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import type { GraphQLResolveInfo } from 'graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { InheritAccess, RequireScopes } from '../auth/access.js';
import { DependsOn } from '../graphql/cache/cache-policy.decorator.js';
import { Direct } from '../graphql/schema/direct.decorator.js';
import type { Connection } from '../graphql/schema/connection.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { pageSelection } from '../graphql/analysis/selection.js';
import { GroupInput } from '../groups/group.inputs.js';
import { Group } from '../groups/group.model.js';
import { Profile } from '../users/profile.model.js';
import { UserInput } from '../users/user.inputs.js';
import { User } from '../users/user.model.js';
import { MembershipArguments } from './membership.inputs.js';
import {
  CurrentGroupMembershipInheritance,
  type GroupMembership,
  GroupMembershipConnection,
} from './membership.model.js';
import { MembershipsService } from './memberships.service.js';
import { RoleFilter } from './role.js';

@Resolver(() => Group)
export class GroupMembersResolver {
  constructor(private readonly memberships: MembershipsService) {}

  @Direct()
  @RequireScopes('read')
  @ResolveField(() => GroupMembershipConnection, {
    nullable: true,
    description: 'Everybody who belongs to the group, directly or through groups inside it, each once.',
  })
  members(
    @Parent() group: Group,
    @Args() page: MembershipArguments,
    @Context() { batches }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Connection<GroupMembership>> {
    return this.memberships.listMembers(group, page, pageSelection(info), batches);
  }
}

@Resolver(() => User)
export class UserGroupsResolver {
  constructor(private readonly memberships: MembershipsService) {}

  @Direct()
  @InheritAccess()
  @ResolveField(() => GroupMembershipConnection, {
    description: 'Every group that the person belongs to, directly or through groups inside it, each once.',
  })
  groups(
    @Parent() user: User,
    @Args() page: MembershipArguments,
    @Context() { batches }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Connection<GroupMembership>> {
    return this.memberships.listGroups(user, page, pageSelection(info), batches);
  }
}

@Resolver(() => Profile)
export class ProfileGroupsResolver {
  constructor(private readonly memberships: MembershipsService) {}

  @Direct()
  @InheritAccess()
  @ResolveField(() => GroupMembershipConnection, {
    description: 'Every group that you belong to, directly or through groups inside it, each once.',
  })
  groups(
    @Parent() { user }: Profile,
    @Args() page: MembershipArguments,
    @Context() { batches }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Connection<GroupMembership>> {
    return this.memberships.listGroups(user, page, pageSelection(info), batches);
  }
}

@Resolver(() => CurrentGroupMembershipInheritance)
export class MembershipRoleResolver {
  constructor(private readonly memberships: MembershipsService) {}

  @InheritAccess()
  @ResolveField(() => [Group], {
    description:
      'The groups directly inside this one through which the person holds `value`; empty when it is given by name.',
  })
  inheritedFrom(
    @Parent() role: CurrentGroupMembershipInheritance,
    @Context() { batches }: RequestContext,
  ): Promise<Group[]> {
    return this.memberships.listInheritedFrom(role, batches);
  }
}

@Resolver()
export class IsMemberResolver {
  constructor(private readonly memberships: MembershipsService) {}

  @RequireScopes('read')
  @Personal()
  @DependsOn('mirror')
  @Query(() => Boolean, {
    nullable: true,
    description:
      'Whether a person belongs to a group, directly or through others; NOT_FOUND when either is unknown.',
  })
  isMember(
    @Args('user', { description: 'Who.' }) user: UserInput,
    @Args('group', { description: 'Of which group.' }) group: GroupInput,
    @Args('role', {
      type: () => RoleFilter,
      nullable: true,
      description: 'As what; without it, as anything.',
    })
    role: RoleFilter | null,
    @Context() { reader }: RequestContext,
  ): Promise<boolean> {
    return this.memberships.isMember(user, group, role ?? null, reader);
  }
}
