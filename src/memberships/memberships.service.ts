import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { PageSelection } from '../common/page.js';
import { readPages } from '../database/paging/page.js';
import type { Reader } from '../database/statements/reader.js';
import type { Batches } from '../graphql/execution/batches.js';
import { Connection } from '../graphql/schema/connection.js';
import type { GroupInput } from '../groups/group.inputs.js';
import { Group } from '../groups/group.model.js';
import { GroupsService } from '../groups/groups.service.js';
import type { UserInput } from '../users/user.inputs.js';
import { User } from '../users/user.model.js';
import type { MembershipArguments } from './membership.inputs.js';
import type { CurrentGroupMembershipInheritance, GroupMembership } from './membership.model.js';
import {
  FIND_MEMBERSHIP,
  FIND_ROLE,
  type FindRoleRow,
  membershipSource,
  shownFrom,
  type Side,
} from './membership.queries.js';
import { rankOf, type RoleFilter } from './role.js';
import { listedIn, roleIn, type Shown, WHOLE_ROLE } from './shown.js';

/** What pages of memberships are gathered by: the same for whoever asks for the same of another parent. */
export function nameOfPage(
  side: Side,
  { first, after, last, before, filter, orderBy }: MembershipArguments,
  selection: PageSelection,
): string {
  return `${side} ${selection.name} ${JSON.stringify([first, after, last, before, filter, orderBy])}`;
}

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
    return this.list('members', group.key, page, selection, batches, (row, shown) => ({
      role: roleIn(row, shown),
      user: listedIn(row, shown, new User()),
      group,
    }));
  }

  listGroups(
    user: User,
    page: MembershipArguments,
    selection: PageSelection,
    batches: Batches,
  ): Promise<Connection<GroupMembership>> {
    return this.list('groups', user.key, page, selection, batches, (row, shown) => ({
      role: roleIn(row, shown),
      user,
      group: listedIn(row, shown, new Group()),
    }));
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
    const [row] = await reader.read(FIND_MEMBERSHIP, [user.key, group.key]);
    if (row === undefined) throw new NotFoundError('This person is not in the group', 'user');
    return { user, group, role: roleIn(row, WHOLE_ROLE) };
  }

  /** The groups of `inheritedFrom`, for all memberships of a level in one statement. */
  async listInheritedFrom(role: CurrentGroupMembershipInheritance, batches: Batches): Promise<Group[]> {
    const groups = await Promise.all(
      role.inheritedFromKeys.map((key) => this.groups.findByKey(key, batches)),
    );
    return groups.filter((group) => group !== null);
  }

  /** The page under each parent of a level, in one statement with what is selected of it. */
  private async list(
    side: Side,
    parent: number,
    page: MembershipArguments,
    selection: PageSelection,
    batches: Batches,
    membershipOf: (row: unknown[], shown: Shown) => GroupMembership,
  ): Promise<Connection<GroupMembership>> {
    const shown = shownFrom(side, selection);
    const rows = await batches.load(nameOfPage(side, page, selection), parent, (keys, reader) =>
      readPages(reader, membershipSource(side, page, shown), page, selection, keys),
    );
    return Connection.of(rows, (row) => membershipOf(row, shown));
  }
}
