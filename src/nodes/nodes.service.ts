import { Injectable } from '@nestjs/common';
import { hasScopes } from '../auth/access.js';
import { scopeNeeded } from '../auth/authentication.error.js';
import { grantedScopes, type Principal, type Scope } from '../auth/principal.js';
import { ServiceError } from '../common/errors.js';
import { foldId, type NodeIdentity, type NodeType, parseNodeId } from '../common/identity.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import type { Node } from '../graphql/schema/connection.js';
import { GroupsService } from '../groups/groups.service.js';
import { Profile, type User } from '../users/user.model.js';
import { UsersService } from '../users/users.service.js';

/** The scope that a token needs for objects of each type, as for the queries `user`, `group` and `profile`. */
const SCOPES: Readonly<Record<NodeType, Scope>> = { User: 'read', Group: 'read', Profile: 'profile' };

type Request = Pick<RequestContext, 'principal' | 'batches'>;

@Injectable()
export class NodesService {
  constructor(
    private readonly users: UsersService,
    private readonly groups: GroupsService,
  ) {}

  /** @throws ServiceError INSUFFICIENT_SCOPE, which depends on the type only */
  async find(nodeId: string, request: Request): Promise<Node | null> {
    const [node = null] = await this.list([nodeId], request);
    if (node instanceof ServiceError) throw node;
    return node;
  }

  /**
   * Returns the objects in the order of their node ids, those of a table read in one statement. In the place of one whose type needs another scope is INSUFFICIENT_SCOPE, which GraphQL reports there, so that the others are still returned.
   */
  list(nodeIds: readonly string[], request: Request): Promise<(Node | ServiceError | null)[]> {
    return Promise.all(
      nodeIds
        .map(parseNodeId)
        .map(async (identity) => refusalOf(identity, request.principal) ?? this.load(identity, request)),
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
