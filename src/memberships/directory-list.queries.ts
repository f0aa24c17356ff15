import { bindCursor } from '../common/cursor.js';
import { asLabel, foldSearch } from '../common/fold.js';
import type { OrderColumn, PageOrder, PageSource } from '../database/paging/page-source.js';
import { searchCondition } from '../database/paging/search-condition.js';
import { Values } from '../database/statements/values.js';
import { OrderDirection } from '../graphql/schema/order.js';
import {
  type GroupListArguments,
  GroupOrderField,
  type UserListArguments,
  UserOrderField,
} from './directory-list.inputs.js';
import { rankOf, type RoleFilter, roleCondition } from './role.js';
import { INSTANTS, type Shown } from './shown.js';

/**
 * The people of the directory. With `memberOf` the list begins at the group's memberships, which have an index in
 * the same order, and otherwise at the people themselves.
 * @param groupKey the group of `memberOf`
 */
export function userSource(
  { filter, orderBy }: UserListArguments,
  groupKey: number | null,
  { columns }: Shown,
): PageSource {
  const values = new Values();
  const conditions: string[] = [];
  if (groupKey !== null) conditions.push(`m.group_key = ${values.add(groupKey)}::integer`);
  if (filter?.role) conditions.push(roleOfMembership(filter.role, values));
  if (filter?.search !== undefined && filter.search !== null) {
    conditions.push(searchCondition('u', foldSearch(filter.search, 'search'), values));
  }
  if (filter?.schoolYear !== undefined && filter.schoolYear !== null) {
    // The left side as the index has it; an empty year is nobody's, and no year is not an empty one.
    const year = values.add(asLabel(filter.schoolYear));
    conditions.push(`coalesce(u.school_year, '') = nullif(${year}::text, '')`);
  }
  if (filter?.updatedSince)
    conditions.push(`u.updated_at >= ${values.add(filter.updatedSince)}::timestamptz`);
  return {
    binding: bindCursor(
      'users',
      orderBy ?? { field: UserOrderField.NAME, direction: OrderDirection.ASC },
      filter ?? {},
    ),
    from: groupKey === null ? 'users u' : 'effective_memberships m join users u on u.key = m.user_key',
    columns,
    instants: INSTANTS,
    parent: null,
    order: userOrder(
      orderBy,
      groupKey === null ? ['u.sort_name', 'u.key'] : ['m.user_sort_name', 'm.user_key'],
    ),
    conditions,
    values,
    ...(conditions.length === 0 ? { total: '(select user_count from mirror_state)' } : {}),
  };
}

/**
 * The groups of the directory.
 * @param userKey the person of `hasMember`
 * @param parentKey the group of `parent`
 */
export function groupSource(
  { filter, orderBy }: GroupListArguments,
  userKey: number | null,
  parentKey: number | null,
  { columns }: Shown,
): PageSource {
  const values = new Values();
  const conditions: string[] = [];
  if (userKey !== null) conditions.push(`m.user_key = ${values.add(userKey)}::integer`);
  if (filter?.role) conditions.push(roleOfMembership(filter.role, values));
  if (parentKey !== null) {
    conditions.push(
      `g.key in (select n.inner_key from nestings n where n.outer_key = ${values.add(parentKey)}::integer)`,
    );
  }
  if (filter?.search !== undefined && filter.search !== null) {
    conditions.push(searchCondition('g', foldSearch(filter.search, 'search'), values));
  }
  return {
    binding: bindCursor(
      'groups',
      orderBy ?? { field: GroupOrderField.NAME, direction: OrderDirection.ASC },
      filter ?? {},
    ),
    from: userKey === null ? 'groups g' : 'effective_memberships m join groups g on g.key = m.group_key',
    columns,
    instants: INSTANTS,
    parent: null,
    order: groupOrder(
      orderBy,
      userKey === null ? ['g.sort_name', 'g.key'] : ['m.group_sort_name', 'm.group_key'],
    ),
    conditions,
    values,
    ...(conditions.length === 0 ? { total: '(select group_count from mirror_state)' } : {}),
  };
}

function roleOfMembership(role: RoleFilter, values: Values): string {
  return roleCondition('m.role', role, values.add(rankOf(role.is)));
}

type NameColumns = readonly [sortName: string, key: string];

function byName([sortName, key]: NameColumns): OrderColumn[] {
  return [
    { sql: sortName, type: 'text' },
    { sql: key, type: 'integer' },
  ];
}

function userOrder(orderBy: UserListArguments['orderBy'], name: NameColumns): PageOrder {
  const direction = orderBy?.direction ?? OrderDirection.ASC;
  switch (orderBy?.field) {
    case UserOrderField.SCHOOL_YEAR:
      return {
        columns: [{ sql: `coalesce(u.school_year, '')`, type: 'text' }, ...byName(['u.sort_name', 'u.key'])],
        direction,
      };
    case UserOrderField.UPDATED_AT:
      return {
        columns: [
          { sql: 'u.updated_at', type: 'timestamp' },
          { sql: 'u.key', type: 'integer' },
        ],
        direction,
      };
    default:
      return { columns: byName(name), direction };
  }
}

function groupOrder(orderBy: GroupListArguments['orderBy'], name: NameColumns): PageOrder {
  const direction = orderBy?.direction ?? OrderDirection.ASC;
  switch (orderBy?.field) {
    case GroupOrderField.MEMBER_COUNT: {
      // The largest first, and still from A to Z among equals: the count is turned round instead of the order.
      const count = direction === OrderDirection.DESC ? '(-g.member_count)' : 'g.member_count';
      return {
        columns: [{ sql: count, type: 'integer' }, ...byName(['g.sort_name', 'g.key'])],
        direction: 'ASC',
      };
    }
    case GroupOrderField.UPDATED_AT:
      return {
        columns: [
          { sql: 'g.updated_at', type: 'timestamp' },
          { sql: 'g.key', type: 'integer' },
        ],
        direction,
      };
    default:
      return { columns: byName(name), direction };
  }
}
