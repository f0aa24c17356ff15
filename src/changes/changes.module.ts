import { Module } from '@nestjs/common';
import { Args, Context, Info, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import type { GraphQLResolveInfo } from 'graphql';
import { InheritAccess, RequireScopes } from '../auth/access.js';
import { pageSelection } from '../graphql/analysis/selection.js';
import { GraphQLModule } from '../graphql/graphql.module.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import type { Connection } from '../graphql/schema/connection.js';
import { Group } from '../groups/group.model.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import { GroupsModule } from '../groups/groups.module.js';
import { GroupsService } from '../groups/groups.service.js';
import { User } from '../users/user.model.js';
import { UsersModule } from '../users/users.module.js';
import { UsersService } from '../users/users.service.js';
import { ChangeFeed } from './change-feed.js';
import { ChangeLog, changeSource, getSubject, listChanges, readStart } from './change-log.js';
import { ChangeStreamsController } from './change-streams.js';
import { ChangeListArguments, Change, ChangeConnection } from './change.model.js';

/** The log of changes, for clients that keep a copy of the directory. */
@Resolver(() => Change)
class ChangesResolver {
  constructor(
    private readonly users: UsersService,
    private readonly groups: GroupsService,
  ) {}

  @RequireScopes('directory')
  @Query(() => ChangeConnection, {
    nullable: true,
    description:
      'The changes that the service took from the directory, oldest first. To receive every change once, keep the `endCursor` and pass it as `after` in the next request. The log has no changes of the first reading of the directory. Changes are kept for 30 days unless the operators configure another period. CHANGE_CURSOR_EXPIRED if changes after the cursor are no longer kept; INVALID_CURSOR if the database never had the revision of the cursor, as after a failover or a restore. In both cases, read everything again.',
  })
  async changes(
    @Args() page: ChangeListArguments,
    @Context() { reader }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Connection<Change>> {
    const { user, group, ...filter } = page.filter ?? {};
    const userKey = user ? await getSubject(this.users.names, user, reader) : null;
    const groupKey = group ? await getSubject(GROUP_TABLE, group, reader) : null;
    const source = changeSource({ ...filter, userKey, groupKey });
    return listChanges(page, source, pageSelection(info), reader);
  }

  @InheritAccess()
  @ResolveField(() => User, {
    nullable: true,
    description: 'The user as of now. Null if the user was deleted.',
  })
  async user(@Parent() { userKey }: Change, @Context() { batches }: RequestContext): Promise<User | null> {
    return userKey === null ? null : this.users.findByKey(userKey, batches);
  }

  @InheritAccess()
  @ResolveField(() => Group, {
    nullable: true,
    description: 'The group as of now. Null if the group was deleted.',
  })
  async group(@Parent() { groupKey }: Change, @Context() { batches }: RequestContext): Promise<Group | null> {
    return groupKey === null ? null : this.groups.findByKey(groupKey, batches);
  }
}

@Resolver(() => ChangeConnection)
class ChangeConnectionResolver {
  @InheritAccess()
  @ResolveField(() => String, {
    description:
      'The cursor after which the log is complete, with any filter. The first reading of the directory is not in the log. ' +
      'To begin a copy, keep this cursor or the last `endCursor`, then read all users, groups and members, then pass it as `after`.',
  })
  completeAfter(@Context() { reader }: RequestContext): Promise<string> {
    return readStart(reader);
  }
}

@Module({
  imports: [GraphQLModule, UsersModule, GroupsModule],
  controllers: [ChangeStreamsController],
  providers: [ChangesResolver, ChangeConnectionResolver, ChangeLog, ChangeFeed],
  exports: [ChangeFeed],
})
export class ChangesModule {}
