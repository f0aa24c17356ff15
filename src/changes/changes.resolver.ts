import { Args, Context, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import { InheritAccess, RequireScopes } from '../auth/access.js';
import type { PageSelection } from '../common/page.js';
import type { Connection } from '../graphql/schema/connection.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { SelectedPage } from '../graphql/analysis/selection.js';
import { Group } from '../groups/group.model.js';
import { User } from '../users/user.model.js';
import { ChangeListArguments } from './change.inputs.js';
import { Change, ChangeConnection } from './change.model.js';
import { ChangesService } from './changes.service.js';

@Resolver(() => Change)
export class ChangesResolver {
  constructor(private readonly log: ChangesService) {}

  @RequireScopes('directory')
  @Query(() => ChangeConnection, {
    nullable: true,
    description:
      'What was taken over from the directory, from old to new: keep the `endCursor` and ask again with it as `after` to get every change once. Changes are kept for 30 days, unless the operators have set another time; CHANGE_CURSOR_EXPIRED when some after a cursor are gone, INVALID_CURSOR when the database never had the revision of the cursor, as after a failover or a restore: then read everything again.',
  })
  changes(
    @Args() page: ChangeListArguments,
    @SelectedPage() selection: PageSelection,
    @Context() { reader }: RequestContext,
  ): Promise<Connection<Change>> {
    return this.log.list(page, selection, reader);
  }

  @InheritAccess()
  @ResolveField(() => User, {
    nullable: true,
    description: 'The person it is about, as they are today; null once they are gone.',
  })
  user(@Parent() change: Change, @Context() { batches }: RequestContext): Promise<User | null> {
    return this.log.findUser(change, batches);
  }

  @InheritAccess()
  @ResolveField(() => Group, {
    nullable: true,
    description: 'The group it is about, as it is today; null once it is gone.',
  })
  group(@Parent() change: Change, @Context() { batches }: RequestContext): Promise<Group | null> {
    return this.log.findGroup(change, batches);
  }
}
