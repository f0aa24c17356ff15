import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { PageSelection } from '../common/page.js';
import { readPages } from '../database/page.js';
import type { Reader } from '../database/reader.js';
import type { Batches } from '../graphql/batches.js';
import { Connection } from '../graphql/connection.js';
import type { GroupInput } from '../groups/group.inputs.js';
import type { Group } from '../groups/group.model.js';
import { groupOf, type GroupRow } from '../groups/group.queries.js';
import { GroupsService } from '../groups/groups.service.js';
import type { UserInput } from '../users/user.inputs.js';
import type { User } from '../users/user.model.js';
import { userOf, type UserRow } from '../users/user.queries.js';
import type { MembershipArguments } from './membership.inputs.js';
import { CurrentGroupMembershipInheritance, type GroupMembership } from './membership.model.js';
import {
  FIND_MEMBERSHIP,
  FIND_ROLE,
  type FindRoleRow,
  membershipSource,
  type RoleRow,
} from './membership.queries.js';
import { rankOf, type RoleFilter, roleOf } from './role.js';

/** Who belongs to what, and as what. */
@Injectable()
export class MembershipsService {
  constructor(private readonly groups: GroupsService) {}

  listMembers(
    group: Group,
    page: MembershipArguments,
    selection: PageSelection,
    batches: Batches,
  ): Promise<Connection<GroupMembership>> {
    const name = JSON.stringify(['members', page, selection]);
    return batches
      .load(name, group.key, (keys, reader) =>
        readPages<[...RoleRow, ...UserRow]>(reader, membershipSource('members', page), page, selection, keys),
      )
      .then((rows) =>
        Connection.of(rows, (row) => ({ role: roleIn(row), user: userOf(rest(row) as UserRow), group })),
      );
  }

  listGroups(
    user: User,
    page: MembershipArguments,
    selection: PageSelection,
    batches: Batches,
  ): Promise<Connection<GroupMembership>> {
    const name = JSON.stringify(['groups', page, selection]);
    return batches
      .load(name, user.key, (keys, reader) =>
        readPages<[...RoleRow, ...GroupRow]>(reader, membershipSource('groups', page), page, selection, keys),
      )
      .then((rows) =>
        Connection.of(rows, (row) => ({ role: roleIn(row), user, group: groupOf(rest(row) as GroupRow) })),
      );
  }

  /** @throws NotFoundError when either of them is not in the directory */
  async isMember(
    user: UserInput,
    group: GroupInput,
    role: RoleFilter | null,
    reader: Reader,
  ): Promise<boolean> {
    const ids = [foldId(user.id), foldId(group.id)];
    const [[userKey, groupKey, rank] = [null, null, null]] = await reader.read<FindRoleRow>(FIND_ROLE, ids);
    if (userKey === null) throw new NotFoundError('There is no person with this id', 'user');
    if (groupKey === null) throw new NotFoundError('There is no group with this id', 'group');
    if (rank === null || role === null) return rank !== null;
    return role.strict === true ? rank === rankOf(role.is) : rank >= rankOf(role.is);
  }

  /**
   * A person in a group.
   * @throws NotFoundError when the person is not in it
   */
  async get(user: User, group: Group, reader: Reader): Promise<GroupMembership> {
    const [row] = await reader.read<RoleRow>(FIND_MEMBERSHIP, [user.key, group.key]);
    if (row === undefined) throw new NotFoundError('This person is not in the group', 'user');
    return { user, group, role: roleIn(row) };
  }

  /** The groups of `inheritedFrom`, for all memberships of a level in one statement. */
  async listInheritedFrom(role: CurrentGroupMembershipInheritance, batches: Batches): Promise<Group[]> {
    const groups = await Promise.all(
      role.inheritedFromKeys.map((key) => this.groups.findByKey(key, batches)),
    );
    return groups.filter((group) => group !== null);
  }
}

const ROLE_COLUMNS = 3;

function rest(row: unknown[]): unknown[] {
  return row.slice(ROLE_COLUMNS);
}

function roleIn([rank, directRank, inheritedFrom]: [
  ...RoleRow,
  ...unknown[],
]): CurrentGroupMembershipInheritance {
  const role = new CurrentGroupMembershipInheritance();
  role.value = roleOf(rank);
  role.direct = directRank === null ? null : roleOf(directRank);
  role.inheritedFromKeys = inheritedFrom;
  return role;
}
