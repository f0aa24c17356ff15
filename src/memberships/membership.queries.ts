import { bindCursor } from '../common/cursor.js';
import { asLabel, foldSearch } from '../common/fold.js';
import type { PageSelection } from '../common/page.js';
import type { OrderColumn, PageOrder, PageSource } from '../database/paging/page-source.js';
import { searchCondition } from '../database/paging/search-condition.js';
import { REVISION, statement } from '../database/statements/statement.js';
import { Values } from '../database/statements/values.js';
import { OrderDirection } from '../graphql/schema/order.js';
import {
  type MembershipArguments,
  type MembershipOrder,
  MembershipOrderField,
  MembershipOrigin,
  type UserMemberFilter,
} from './membership.inputs.js';
import { rankOf, roleCondition } from './role.js';
import { INSTANTS, SHOWN_GROUP, SHOWN_USER, type Shown, shownOf, WHOLE_ROLE } from './shown.js';

const DEFAULT_ORDER: MembershipOrder = { field: MembershipOrderField.NAME, direction: OrderDirection.ASC };

/** From which side memberships are listed: the people of groups, or the groups of people. */
export type Side = 'members' | 'groups';

const SIDES = {
  members: {
    shown: SHOWN_USER,
    binding: 'members of a group',
    // Only for what memberships do not carry.
    joined: 'join users u on u.key = m.user_key',
    alias: 'u',
    parent: 'm.group_key',
    key: 'm.user_key',
    sortName: 'm.user_sort_name',
    total: '(select counted.member_count from groups counted where counted.key = parent.key)',
  },
  groups: {
    shown: SHOWN_GROUP,
    binding: 'groups of a person',
    joined: 'join groups g on g.key = m.group_key',
    alias: 'g',
    parent: 'm.user_key',
    key: 'm.group_key',
    sortName: 'm.group_sort_name',
    total: '(select counted.group_count from users counted where counted.key = parent.key)',
  },
} as const;

/** What has to be read of memberships that are listed from this side. */
export function shownFrom(side: Side, { node }: PageSelection): Shown {
  return shownOf(SIDES[side].shown, node);
}

/** @throws BadUserInputError when the search of the filter is too short or too long */
export function membershipSource(
  side: Side,
  { filter, orderBy }: MembershipArguments,
  { columns }: Shown,
): PageSource {
  const { role, origin = MembershipOrigin.ANY, search, schoolYear } = filter ?? {};
  const { binding, joined, alias, parent, total, ...names } = SIDES[side];
  const values = new Values();
  const conditions = conditionsOf(side, filter ?? {}, values);
  const isJoined = [...columns, ...conditions].some((sql) => sql.startsWith(`${alias}.`));
  return {
    binding: bindCursor(binding, orderBy ?? DEFAULT_ORDER, { role, origin, search, schoolYear }),
    from: `effective_memberships m${isJoined ? ` ${joined}` : ''}`,
    columns,
    instants: INSTANTS,
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
    conditions.push(searchCondition(SIDES[side].alias, foldSearch(search, 'search'), values));
  }
  if (schoolYear !== undefined && schoolYear !== null) {
    conditions.push(`m.user_school_year = ${values.add(asLabel(schoolYear))}::text`);
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
  { tellsRevision: true, isShort: true },
);

export type FindRoleRow = [userKey: number | null, groupKey: number | null, role: number | null];

/** The role of a person in a group, by their keys. */
export const FIND_MEMBERSHIP = statement(
  `select ${WHOLE_ROLE.columns.join(', ')} from effective_memberships m where m.user_key = $1 and m.group_key = $2`,
);
