import { Args, Context, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import { InheritAccess, RequireScopes } from '../auth/access.js';
import type { PageSelection } from '../common/page.js';
import type { Connection } from '../graphql/schema/connection.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { SelectedPage } from '../graphql/analysis/selection.js';
import { Group } from '../groups/group.model.js';
import { User } from '../users/user.model.js';
import { ChangeListArguments, Change, ChangeConnection } from './change.model.js';
import { ChangesService } from './changes.service.js';

@Resolver(() => Change)
export class ChangesResolver {
  constructor(private readonly service: ChangesService) {}

  @RequireScopes('directory')
  @Query(() => ChangeConnection, {
    nullable: true,
    description:
      'The changes that the service took from the directory, oldest first. To receive every change once, keep the `endCursor` and pass it as `after` in the next request. The log has no changes of the first reading of the directory. Changes are kept for 30 days unless the operators configure another period. CHANGE_CURSOR_EXPIRED if changes after the cursor are no longer kept; INVALID_CURSOR if the database never had the revision of the cursor, as after a failover or a restore. In both cases, read everything again.',
  })
  changes(
    @Args() page: ChangeListArguments,
    @SelectedPage() selection: PageSelection,
    @Context() { reader }: RequestContext,
  ): Promise<Connection<Change>> {
    return this.service.list(page, selection, reader);
  }

  @InheritAccess()
  @ResolveField(() => User, {
    nullable: true,
    description: 'The user as of now. Null if the user was deleted.',
  })
  user(@Parent() change: Change, @Context() { batches }: RequestContext): Promise<User | null> {
    return this.service.findUser(change, batches);
  }

  @InheritAccess()
  @ResolveField(() => Group, {
    nullable: true,
    description: 'The group as of now. Null if the group was deleted.',
  })
  group(@Parent() change: Change, @Context() { batches }: RequestContext): Promise<Group | null> {
    return this.service.findGroup(change, batches);
  }
}

@Resolver(() => ChangeConnection)
export class ChangeConnectionResolver {
  constructor(private readonly service: ChangesService) {}

  @InheritAccess()
  @ResolveField(() => String, {
    description:
      'The cursor after which the log is complete, with any filter. The first reading of the directory is not in the log. ' +
      'To begin a copy, keep this cursor or the last `endCursor`, then read all users, groups and members, then pass it as `after`.',
  })
  completeAfter(@Context() { reader }: RequestContext): Promise<string> {
    return this.service.getStart(reader);
  }
}
