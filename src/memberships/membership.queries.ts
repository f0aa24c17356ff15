import { bindCursor } from '../common/cursor.js';
import type { OrderColumn, PageOrder, PageSource } from '../database/page-query.js';
import { foldSearch, searchCondition } from '../database/search-condition.js';
import { REVISION, statement } from '../database/statement.js';
import { Values } from '../database/values.js';
import { OrderDirection } from '../graphql/order.js';
import { GROUP_COLUMNS } from '../groups/group.queries.js';
import { USER_COLUMNS } from '../users/user.queries.js';
import {
  type MembershipArguments,
  type MembershipOrder,
  MembershipOrderField,
  MembershipOrigin,
  type UserMemberFilter,
} from './membership.inputs.js';
import { rankOf, roleCondition } from './role.js';

/** What is read of a membership besides the other side. */
const ROLE_COLUMNS = ['m.role', 'm.direct_role', 'm.inherited_from'] as const;

export type RoleRow = [role: number, directRole: number | null, inheritedFrom: number[]];

const DEFAULT_ORDER: MembershipOrder = { field: MembershipOrderField.NAME, direction: OrderDirection.ASC };

/** From which side memberships are listed: the people of groups, or the groups of people. */
export type Side = 'members' | 'groups';

const SIDES = {
  members: {
    binding: 'members of a group',
    from: 'effective_memberships m join users u on u.key = m.user_key',
    columns: [...ROLE_COLUMNS, ...USER_COLUMNS],
    parent: 'm.group_key',
    key: 'm.user_key',
    sortName: 'm.user_sort_name',
    listed: 'u',
    total: '(select counted.member_count from groups counted where counted.key = parent.key)',
  },
  groups: {
    binding: 'groups of a person',
    from: 'effective_memberships m join groups g on g.key = m.group_key',
    columns: [...ROLE_COLUMNS, ...GROUP_COLUMNS],
    parent: 'm.user_key',
    key: 'm.group_key',
    sortName: 'm.group_sort_name',
    listed: 'g',
    total: '(select counted.group_count from users counted where counted.key = parent.key)',
  },
} as const;

/** @throws BadUserInputError when the search of the filter is too short or too long */
export function membershipSource(side: Side, { filter, orderBy }: MembershipArguments): PageSource {
  const { role, origin = MembershipOrigin.ANY, search, schoolYear } = filter ?? {};
  const { binding, from, columns, parent, total, ...names } = SIDES[side];
  const values = new Values();
  const conditions = conditionsOf(side, filter ?? {}, values);
  return {
    binding: bindCursor(binding, orderBy ?? DEFAULT_ORDER, { role, origin, search, schoolYear }),
    from,
    columns,
    parent,
    order: orderOf(names, orderBy ?? null),
    conditions,
    values,
    ...(conditions.length === 0 ? { total } : {}),
  };
}

function conditionsOf(
  side: Side,
  { role, origin, search, schoolYear }: UserMemberFilter,
  values: Values,
): string[] {
  const conditions: string[] = [];
  if (role) conditions.push(roleCondition('m.role', role, values.add(rankOf(role.is))));
  if (origin === MembershipOrigin.DIRECT) conditions.push('m.direct_role is not null');
  if (origin === MembershipOrigin.NESTED) conditions.push('m.direct_role is null');
  if (search !== undefined && search !== null) {
    conditions.push(searchCondition(SIDES[side].listed, foldSearch(search, 'search'), values));
  }
  if (schoolYear !== undefined && schoolYear !== null) {
    const year = `${values.add(schoolYear.replaceAll('\0', '\uFFFD'))}::text`;
    conditions.push(
      side === 'members'
        ? `u.school_year = ${year}`
        : `exists (select from users person where person.key = m.user_key and person.school_year = ${year})`,
    );
  }
  return conditions;
}

function orderOf(
  names: { sortName: string; key: string },
  orderBy: MembershipArguments['orderBy'] | null,
): PageOrder {
  const byName: OrderColumn[] = [
    { sql: names.sortName, type: 'text' },
    { sql: names.key, type: 'integer' },
  ];
  const direction = orderBy?.direction ?? OrderDirection.ASC;
  if (orderBy?.field !== MembershipOrderField.ROLE) return { columns: byName, direction };
  // Owners first, and still from A to Z among them: the rank is turned round instead of the order.
  const rank = direction === OrderDirection.DESC ? '(-m.role)' : 'm.role';
  return { columns: [{ sql: rank, type: 'integer' }, ...byName], direction: 'ASC' };
}

/** Keys of a person and a group by their ids, and the person's effective role in it. */
export const FIND_ROLE = statement(
  `
  select ids.user_key, ids.group_key, m.role, ${REVISION}
  from (select
    (select u.key from users u where u.id_folded = $1) as user_key,
    (select g.key from groups g where g.id_folded = $2) as group_key) ids
  left join effective_memberships m on m.user_key = ids.user_key and m.group_key = ids.group_key`,
  { tellsRevision: true },
);

export type FindRoleRow = [userKey: number | null, groupKey: number | null, role: number | null];

/** The effective role of a person in a group, by their keys. */
export const FIND_MEMBERSHIP = statement(
  `select ${ROLE_COLUMNS.join(', ')} from effective_memberships m where m.user_key = $1 and m.group_key = $2`,
);
