import { Module } from '@nestjs/common';
import { Args, Context, Info, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import type { GraphQLResolveInfo } from 'graphql';
import { InheritAccess, RequireScopes } from '../auth/access.js';
import { objectSelection, pageSelection } from '../graphql/analysis/selection.js';
import { CachePolicy } from '../graphql/cache/response-cache.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { type Connection, ConnectionArguments } from '../graphql/schema/connection.js';
import { GroupListArguments } from './group-list.inputs.js';
import { Group, GroupConnection, GroupInput } from './group.model.js';
import { GroupsService } from './groups.service.js';

@Resolver(() => Group)
class GroupsResolver {
  constructor(private readonly service: GroupsService) {}

  @RequireScopes('read')
  @CachePolicy('mirror')
  @Query(() => Group, { nullable: true, description: 'One group. NOT_FOUND if there is no such group.' })
  group(
    @Args('group', { description: 'The group to return.' }) input: GroupInput,
    @Context() { reader }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Group> {
    return this.service.getSelected(input, 'group', objectSelection(info, 'members'), reader);
  }

  @RequireScopes('read')
  @CachePolicy('mirror')
  @Query(() => GroupConnection, {
    nullable: true,
    description:
      'All groups that the viewer may see, page by page. Rules of visibility leave out the others.',
  })
  groups(
    @Args() page: GroupListArguments,
    @Context() { reader }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Connection<Group>> {
    return this.service.list(page, pageSelection(info), reader);
  }

  @InheritAccess()
  @ResolveField(() => GroupConnection, {
    nullable: true,
    description: 'The groups that directly contain this group, by name.',
  })
  parents(
    @Parent() group: Group,
    @Args() page: ConnectionArguments,
    @Context() { batches }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Connection<Group>> {
    return this.service.listNested('parents', group, page, pageSelection(info), batches);
  }

  @InheritAccess()
  @ResolveField(() => GroupConnection, {
    nullable: true,
    description: 'The groups that this group directly contains, by name.',
  })
  subgroups(
    @Parent() group: Group,
    @Args() page: ConnectionArguments,
    @Context() { batches }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Connection<Group>> {
    return this.service.listNested('subgroups', group, page, pageSelection(info), batches);
  }
}

@Module({
  providers: [GroupsResolver, GroupsService],
  exports: [GroupsService],
})
export class GroupsModule {}
