import { Module } from '@nestjs/common';
import { Args, Context, ID, Query, Resolver } from '@nestjs/graphql';
import { RequireToken } from '../auth/access.js';
import { SizedBy } from '../graphql/analysis/operation-cost.js';
import { CachePolicy } from '../graphql/cache/response-cache.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { Node } from '../graphql/schema/connection.js';
import { GroupsModule } from '../groups/groups.module.js';
import { UsersModule } from '../users/users.module.js';
import { NodesService } from './nodes.service.js';

const SCOPES = 'Users and groups need the scope `read`, and the profile of the token needs `profile`.';

@Resolver(() => Node)
class NodesResolver {
  constructor(private readonly service: NodesService) {}

  @RequireToken()
  @CachePolicy('mirror', 'subject')
  @Query(() => Node, {
    nullable: true,
    description: `One user, group or profile by its \`nodeId\`. Null if there is none. ${SCOPES}`,
  })
  node(
    @Args('nodeId', { type: () => ID, description: 'The `nodeId` of the object.' }) nodeId: string,
    @Context() context: RequestContext,
  ): Promise<Node | null> {
    return this.service.find(nodeId, context);
  }

  @RequireToken()
  @SizedBy('nodeIds')
  @CachePolicy('mirror', 'subject')
  @Query(() => [Node], {
    nullable: 'itemsAndList',
    description: `Users, groups and the profile by their \`nodeId\`, in the order of the argument. Null for each that does not exist, and with an error in its place for each that needs another scope. ${SCOPES}`,
  })
  nodes(
    @Args('nodeIds', { type: () => [ID], description: 'The `nodeId` of each object: at most 100.' })
    nodeIds: string[],
    @Context() context: RequestContext,
  ): Promise<(Node | Error | null)[]> {
    return this.service.list(nodeIds, context);
  }
}

@Module({ imports: [GroupsModule, UsersModule], providers: [NodesResolver, NodesService] })
export class NodesModule {}
