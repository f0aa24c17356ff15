import { Args, Context, Parent, ResolveField, Resolver } from '@nestjs/graphql';
import { InheritAccess } from '../auth/access.js';
import type { PageSelection } from '../common/page.js';
import { type Connection, ConnectionArguments } from '../graphql/schema/connection.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { SelectedPage } from '../graphql/analysis/selection.js';
import { Group, GroupConnection } from './group.model.js';
import { GroupsService } from './groups.service.js';

@Resolver(() => Group)
export class GroupsResolver {
  constructor(private readonly groups: GroupsService) {}

  @InheritAccess()
  @ResolveField(() => GroupConnection, { description: 'The groups that directly contain this one, by name.' })
  parents(
    @Parent() group: Group,
    @Args() page: ConnectionArguments,
    @SelectedPage() selection: PageSelection,
    @Context() { batches }: RequestContext,
  ): Promise<Connection<Group>> {
    return this.groups.listNested('parents', group, page, selection, batches);
  }

  @InheritAccess()
  @ResolveField(() => GroupConnection, {
    description: 'The groups that this one directly contains, by name.',
  })
  subgroups(
    @Parent() group: Group,
    @Args() page: ConnectionArguments,
    @SelectedPage() selection: PageSelection,
    @Context() { batches }: RequestContext,
  ): Promise<Connection<Group>> {
    return this.groups.listNested('subgroups', group, page, selection, batches);
  }
}
