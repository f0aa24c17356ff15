import { Inject, Injectable } from '@nestjs/common';
import { scopeNeeded } from '../auth/authentication.error.js';
import { grantedScopes, type Principal, type Scope } from '../auth/principal.js';
import { hasScopes } from '../auth/access.js';
import { ServiceError } from '../common/errors.js';
import { foldId, type NodeIdentity, type NodeType, parseNodeId } from '../common/identity.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import type { Node } from '../graphql/schema/node.js';
import type { Group } from '../groups/group.model.js';
import { groupProjection } from '../groups/group.queries.js';
import { Profile, type User } from '../users/user.model.js';
import { userProjection } from '../users/user.queries.js';
import { NodeQuery } from './node.queries.js';

/** The scope that a token needs for objects of each type, as for the queries `user`, `group` and `profile`. */
const SCOPES: Readonly<Record<NodeType, Scope>> = { User: 'read', Group: 'read', Profile: 'profile' };

type Request = Pick<RequestContext, 'principal' | 'batches'>;

@Injectable()
export class NodesService {
  private readonly query: NodeQuery;

  constructor(@Inject(CONFIG) { directory: { mapping } }: Config) {
    this.query = new NodeQuery(userProjection(mapping.users.fields), groupProjection(mapping.groups.fields));
  }

  /** @throws ServiceError INSUFFICIENT_SCOPE, which depends on the type only */
  async find(nodeId: string, request: Request): Promise<Node | null> {
    const [node = null] = await this.list([nodeId], request);
    return node;
  }

  /**
   * Returns the objects in the order of their node ids, read in one statement with all others of the request.
   * @throws ServiceError INSUFFICIENT_SCOPE, which depends on the types only
   */
  list(nodeIds: readonly string[], request: Request): Promise<(Node | null)[]> {
    const identities = nodeIds.map(parseNodeId);
    for (const identity of identities) if (identity !== null) requireScope(identity, request.principal);
    return Promise.all(identities.map((identity) => this.load(identity, request)));
  }

  private async load(identity: NodeIdentity | null, { principal, batches }: Request): Promise<Node | null> {
    if (identity === null) return null;
    const isGroup = identity.type === 'Group';
    const key = `${isGroup ? 'groups' : 'users'} ${identity.entryUuid}` as const;
    const found = await batches.load<string, User | Group | null>('nodes', key, (keys, reader) =>
      this.query.read(keys, reader),
    );
    if (found === null || identity.type !== 'Profile') return found;
    return isOwn(found, principal) ? new Profile(found as User) : null;
  }
}

function isOwn({ id }: User | Group, principal: Principal | null): boolean {
  const subject = principal?.subject ?? null;
  return subject !== null && foldId(subject) === foldId(id);
}

function requireScope({ type }: NodeIdentity, principal: Principal | null): void {
  const requiredScopes = [SCOPES[type]];
  if (principal !== null && hasScopes(principal, requiredScopes)) return;
  const message = scopeNeeded(`A node of the type ${type}`, requiredScopes);
  const details = { requiredScopes, grantedScopes: grantedScopes(principal) };
  throw new ServiceError('INSUFFICIENT_SCOPE', message, details);
}
