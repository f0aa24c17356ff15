import { Injectable } from '@nestjs/common';
import { grantedScopes } from '../auth/principal.js';
import { ServiceError } from '../common/errors.js';
import { foldId, type LookupKey, lookupOf, type ObjectInput } from '../common/identity.js';
import type { PageSelection } from '../common/page.js';
import { findObject, lookupCondition, notFound, type TableNames } from '../database/fields/object-table.js';
import { readPages } from '../database/paging/page.js';
import { type Reader, REVISION, type Statement, statement } from '../database/statements/statement.js';
import type { Batches, RequestContext } from '../graphql/http/request-context.js';
import type { Connection } from '../graphql/schema/connection.js';
import { type Group, type GroupInput, rankOf, type RoleFilter } from '../groups/group.model.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import { GroupsService } from '../groups/groups.service.js';
import type { User, UserInput } from '../users/user.model.js';
import { UsersService } from '../users/users.service.js';
import { mapRole, type MembershipList, WHOLE_ROLE } from './membership-list.js';
import type {
  CurrentGroupMembershipInheritance,
  GroupMembership,
  MembershipArguments,
} from './membership.model.js';

/** Keys of a user and a group by their identities, and the effective role of the user in the group. */
function findRole(users: TableNames, user: LookupKey, group: LookupKey): Statement {
  const ofUser = lookupCondition(users, user, 'u', '$1');
  const ofGroup = lookupCondition(GROUP_TABLE, group, 'g', '$2');
  return statement(
    `
  select ids.user_key, ids.group_key, m.role, ids.members_visible_to, ids.user_id, ${REVISION}
  from (select
    (select u.key from users u where ${ofUser}) as user_key,
    (select u.id_folded from users u where ${ofUser}) as user_id,
    (select g.key from groups g where ${ofGroup}) as group_key,
    (select g.members_visible_to from groups g where ${ofGroup}) as members_visible_to) ids
  left join effective_memberships m on m.user_key = ids.user_key and m.group_key = ids.group_key`,
    { returnsRevision: true },
  );
}

type FindRoleRow = [
  userKey: number | null,
  groupKey: number | null,
  role: number | null,
  membersVisibleTo: number | null,
  userId: string | null,
];

/** The role of a user in a group, by their keys. */
const FIND_MEMBERSHIP = statement(
  `select ${WHOLE_ROLE.columns.join(', ')} from effective_memberships m where m.user_key = $1 and m.group_key = $2`,
);

@Injectable()
export class MembershipsService {
  constructor(
    private readonly groups: GroupsService,
    private readonly users: UsersService,
  ) {}

  async listMembers(
    group: Group,
    page: MembershipArguments,
    selection: PageSelection,
    batches: Batches,
  ): Promise<Connection<GroupMembership>> {
    // An unread property (undefined) also hides the members.
    if (group.membersVisibleTo !== 0) throw hiddenMembers();
    return this.groups.memberships.list(group, page, selection, batches);
  }

  /**
   * The membership of a user in a group, in one statement for all groups of a level. Null: the user does not belong to it.
   * @throws NotFoundError when the user does not exist; ServiceError FORBIDDEN if the members are hidden
   */
  findMember(
    group: Group,
    input: UserInput,
    selection: PageSelection,
    { batches, viewer }: RequestContext,
  ): Promise<GroupMembership | null> {
    const isHidden = (id: unknown) => group.membersVisibleTo !== 0 && viewer.id !== id;
    const find = { names: this.users.names, column: 'u.id_folded', isHidden };
    return findOne(this.groups.memberships, group, input, find, selection, batches);
  }

  /** As findMember, in one statement for all users of a level. */
  findGroup(
    user: User,
    input: GroupInput,
    selection: PageSelection,
    { batches, viewer, principal }: RequestContext,
  ): Promise<GroupMembership | null> {
    const isHidden = (membersVisibleTo: unknown) => membersVisibleTo !== 0 && viewer.id !== foldId(user.id);
    // Other tokens would find out which groups exist to which their user does not belong.
    const isSilent = !grantedScopes(principal).some((scope) => scope === 'read' || scope === 'directory');
    const find = { names: GROUP_TABLE, column: 'g.members_visible_to', isHidden, isSilent };
    return findOne(this.users.memberships, user, input, find, selection, batches);
  }

  /** @throws NotFoundError when the user or the group does not exist; ServiceError FORBIDDEN if its members are hidden */
  async isMember(
    user: UserInput,
    group: GroupInput,
    role: RoleFilter | null,
    { reader, viewer }: RequestContext,
  ): Promise<boolean> {
    const lookups = { user: lookupOf(this.users.names, user), group: lookupOf(GROUP_TABLE, group) };
    const find = findRole(this.users.names, lookups.user.by, lookups.group.by);
    const values = [lookups.user.value, lookups.group.value];
    const [row = [null, null, null, null, null]] = await reader.read<FindRoleRow>(find, values);
    const [userKey, groupKey, rank, membersVisibleTo, userId] = row;
    if (userKey === null) throw notFound(this.users.names, 'user', lookups.user.by);
    if (groupKey === null) throw notFound(GROUP_TABLE, 'group', lookups.group.by);
    if (membersVisibleTo !== 0 && viewer.id !== userId) throw hiddenMembers();
    if (rank === null || role === null) return rank !== null;
    return role.strict === true ? rank === rankOf(role.is) : rank >= rankOf(role.is);
  }

  /** The role of a user in a group, by their keys. Null: the user does not belong to it. */
  async findRole(
    userKey: number,
    groupKey: number,
    reader: Reader,
  ): Promise<CurrentGroupMembershipInheritance | null> {
    const [row] = await reader.read(FIND_MEMBERSHIP, [userKey, groupKey]);
    return row === undefined ? null : mapRole(row, WHOLE_ROLE);
  }

  /** The groups of `inheritedFrom`, in one statement for all memberships of a level. */
  async listInheritedFrom(role: CurrentGroupMembershipInheritance, batches: Batches): Promise<Group[]> {
    const groups = await Promise.all(
      role.inheritedFromKeys.map((key) => this.groups.findByKey(key, batches)),
    );
    return groups.filter((group) => group !== null);
  }
}

/** @returns the error for a list of members that the viewer may not see */
export function hiddenMembers(): ServiceError {
  return new ServiceError('FORBIDDEN', 'This token may not see who belongs to the group');
}

/** How the one object of a membership is found, and what null says about it. */
interface FindOne {
  readonly names: TableNames;
  /** A column of the object, from which `isHidden` sees whether the viewer may not know of a membership. */
  readonly column: string;
  readonly isHidden: (value: unknown) => boolean;
  /** Null instead of errors. */
  readonly isSilent?: boolean;
}

/** The membership of a parent with one object, in one statement for all parents of a level. */
async function findOne(
  memberships: MembershipList,
  parent: User | Group,
  input: ObjectInput,
  { names, column, isHidden, isSilent = false }: FindOne,
  selection: PageSelection,
  batches: Batches,
): Promise<GroupMembership | null> {
  const columns = memberships.select(selection);
  const { by, value: identity } = lookupOf(names, input);
  const name = `${names.table} ${by} ${identity} ${selection.cacheKey}`;
  const find = findObject(names, by, `${names.alias}.key, ${column}`);
  const { row, key, value } = await batches.load(name, parent.key, async (keys, reader) => {
    const [[key, value] = [null, null]] = await reader.read<[number | null, unknown]>(find, [identity]);
    const source = memberships.sourceOf({}, columns, key);
    const pages = key === null ? [] : await readPages(reader, source, { first: 1 }, selection, keys);
    return keys.map((_, index) => ({ row: pages[index]?.rows[0] ?? null, key, value }));
  });
  if (row !== null) return memberships.map(row, columns, parent);
  if (isSilent) return null;
  if (key === null) throw notFound(names, names.noun, by);
  if (isHidden(value)) throw hiddenMembers();
  return null;
}
