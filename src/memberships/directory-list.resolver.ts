import { Args, Context, Query, Resolver } from '@nestjs/graphql';
import { RequireScopes } from '../auth/access.js';
import type { PageSelection } from '../common/page.js';
import { DependsOn } from '../graphql/cache/cache-policy.decorator.js';
import { type Connection, connectionTypes } from '../graphql/schema/connection.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { SelectedPage } from '../graphql/analysis/selection.js';
import { type Group, GroupConnection } from '../groups/group.model.js';
import { User } from '../users/user.model.js';
import { GroupListArguments, UserListArguments } from './directory-list.inputs.js';
import { DirectoryListService } from './directory-list.service.js';

const { ConnectionType: UserConnection } = connectionTypes('User', () => User, {
  connection: 'People, page by page.',
  nodes: 'The people of this page.',
  edge: 'A person and their place in the order.',
  node: 'The person.',
});

@Resolver()
export class DirectoryListResolver {
  constructor(private readonly directory: DirectoryListService) {}

  @RequireScopes('directory')
  @DependsOn('mirror')
  @Query(() => UserConnection, { nullable: true, description: 'Everybody in the directory, page by page.' })
  users(
    @Args() page: UserListArguments,
    @SelectedPage() selection: PageSelection,
    @Context() { reader }: RequestContext,
  ): Promise<Connection<User>> {
    return this.directory.listUsers(page, selection, reader);
  }

  @RequireScopes('read')
  @DependsOn('mirror')
  @Query(() => GroupConnection, { nullable: true, description: 'All groups of the directory, page by page.' })
  groups(
    @Args() page: GroupListArguments,
    @SelectedPage() selection: PageSelection,
    @Context() { reader }: RequestContext,
  ): Promise<Connection<Group>> {
    return this.directory.listGroups(page, selection, reader);
  }
}
