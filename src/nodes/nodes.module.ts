import { Module } from '@nestjs/common';
import { Args, Context, ID, Query, Resolver } from '@nestjs/graphql';
import { hasScopes, RequireToken } from '../auth/access.js';
import { scopeNeeded } from '../auth/authentication.error.js';
import { grantedScopes, type Principal, type Scope } from '../auth/principal.js';
import { ServiceError } from '../common/errors.js';
import { foldId, type NodeIdentity, type NodeType, parseNodeId } from '../common/identity.js';
import { SizedBy } from '../graphql/analysis/operation-cost.js';
import { CachePolicy } from '../graphql/cache/response-cache.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { Node } from '../graphql/schema/connection.js';
import { GroupsModule } from '../groups/groups.module.js';
import { GroupsService } from '../groups/groups.service.js';
import { Profile, type User } from '../users/user.model.js';
import { UsersModule } from '../users/users.module.js';
import { UsersService } from '../users/users.service.js';

const NEEDED_SCOPES = 'Users and groups need the scope `read`, and the profile of the token needs `profile`.';

@Resolver(() => Node)
class NodesResolver {
  constructor(
    private readonly users: UsersService,
    private readonly groups: GroupsService,
  ) {}

  @RequireToken()
  @CachePolicy('mirror', 'subject')
  @Query(() => Node, {
    nullable: true,
    description: `One user, group or profile by its \`nodeId\`. Null if there is none. ${NEEDED_SCOPES}`,
  })
  async node(
    @Args('nodeId', { type: () => ID, description: 'The `nodeId` of the object.' }) nodeId: string,
    @Context() context: RequestContext,
  ): Promise<Node | null> {
    const [node = null] = await this.nodes([nodeId], context);
    if (node instanceof Error) throw node;
    return node;
  }

  /** Objects of a table are read in one statement. An error in the place of an object is reported there, so that the others are returned. */
  @RequireToken()
  @SizedBy('nodeIds')
  @CachePolicy('mirror', 'subject')
  @Query(() => [Node], {
    nullable: 'itemsAndList',
    description: `Users, groups and the profile by their \`nodeId\`, in the order of the argument. Null for each that does not exist, and with an error in its place for each that needs another scope. ${NEEDED_SCOPES}`,
  })
  nodes(
    @Args('nodeIds', { type: () => [ID], description: 'The `nodeId` of each object: at most 100.' })
    nodeIds: string[],
    @Context() context: RequestContext,
  ): Promise<(Node | Error | null)[]> {
    return Promise.all(
      nodeIds
        .map(parseNodeId)
        .map(async (identity) => refusalOf(identity, context.principal) ?? this.load(identity, context)),
    );
  }

  private async load(identity: NodeIdentity | null, { principal, batches }: Request): Promise<Node | null> {
    if (identity === null) return null;
    const { type, entryUuid } = identity;
    if (type === 'Group') return this.groups.findByUuid(entryUuid, batches);
    const user = await this.users.findByUuid(entryUuid, batches);
    if (user === null || type === 'User') return user;
    return isOwn(user, principal) ? new Profile(user) : null;
  }
}

/** The scope that a token needs for objects of each type, as for the queries `user`, `group` and `profile`. */
const SCOPES: Readonly<Record<NodeType, Scope>> = { User: 'read', Group: 'read', Profile: 'profile' };

type Request = Pick<RequestContext, 'principal' | 'batches'>;

function isOwn({ id }: User, principal: Principal | null): boolean {
  const subject = principal?.subject ?? null;
  return subject !== null && foldId(subject) === foldId(id);
}

/** The error depends on the type only. */
function refusalOf(identity: NodeIdentity | null, principal: Principal | null): ServiceError | null {
  if (identity === null) return null;
  const requiredScopes = [SCOPES[identity.type]];
  if (principal !== null && hasScopes(principal, requiredScopes)) return null;
  const message = scopeNeeded(`A node of the type ${identity.type}`, requiredScopes);
  const details = { requiredScopes, grantedScopes: grantedScopes(principal) };
  return new ServiceError('INSUFFICIENT_SCOPE', message, details);
}

@Module({ imports: [GroupsModule, UsersModule], providers: [NodesResolver] })
export class NodesModule {}
