import { bindCursor } from '../common/cursor.js';
import type { Field } from '../common/field.js';
import { listConditions } from '../database/fields/filter-conditions.js';
import { type ProjectedColumns, Projection } from '../database/fields/projection.js';
import {
  byName,
  byUpdate,
  type NameColumns,
  type PageOrder,
  type PageSource,
} from '../database/paging/page-source.js';
import { Values } from '../database/statements/statement.js';
import { OrderDirection } from '../graphql/schema/connection.js';
import { roleConditionOf } from '../groups/group-role.js';
import { type UserListArguments, UserOrderField } from './user-list.inputs.js';
import { User } from './user.model.js';

const DEFAULT_ORDER = { field: UserOrderField.NAME, direction: OrderDirection.ASC };

export const USER_TABLE = {
  table: 'users',
  alias: 'u',
  noun: 'user',
  nodeType: 'User',
  total: 'u.group_count',
} as const;

/** All users, or those of one group: then the list begins at the memberships, which have an index for it. */
export function userSource(
  { filter, orderBy }: UserListArguments,
  groupKey: number | null,
  { columns }: ProjectedColumns,
  { instants }: Projection<User>,
  fields: readonly Field[],
): PageSource {
  const values = new Values();
  const conditions: string[] = [];
  if (groupKey !== null) conditions.push(`m.group_key = ${values.add(groupKey)}::integer`);
  if (filter?.role) conditions.push(roleConditionOf(filter.role, values));
  conditions.push(...listConditions(USER_TABLE, filter ?? {}, fields, values));
  if (filter?.updatedSince)
    conditions.push(`u.updated_at >= ${values.add(filter.updatedSince)}::timestamptz`);
  return {
    binding: bindCursor('users', orderBy ?? DEFAULT_ORDER, filter ?? {}),
    from: groupKey === null ? 'users u' : 'effective_memberships m join users u on u.key = m.user_key',
    columns,
    instants,
    parent: null,
    order: orderOf(
      orderBy,
      groupKey === null ? ['u.sort_name', 'u.key'] : ['m.user_sort_name', 'm.user_key'],
    ),
    conditions,
    values,
    ...(conditions.length === 0 ? { total: '(select user_count from mirror_state)' } : {}),
  };
}

function orderOf(orderBy: UserListArguments['orderBy'], name: NameColumns): PageOrder {
  const direction = orderBy?.direction ?? OrderDirection.ASC;
  switch (orderBy?.field) {
    case UserOrderField.SCHOOL_YEAR:
      return {
        columns: [{ sql: `coalesce(u.school_year, '')`, type: 'text' }, ...byName(['u.sort_name', 'u.key'])],
        direction,
      };
    case UserOrderField.UPDATED_AT:
      return { columns: byUpdate('u'), direction };
    default:
      return { columns: byName(name), direction };
  }
}

const MODEL = { create: () => new User(), list: 'groups', node: 'user', computed: { groups: ['key'] } };

/** Users, read from their table `u`. */
export function userProjection(fields: readonly Field[]): Projection<User> {
  return new Projection(MODEL, fields, { alias: 'u' });
}

/** Users in memberships `m`, whose carried columns save the join with `users u`. */
export function memberProjection(fields: readonly Field[]): Projection<User> {
  return new Projection(MODEL, fields, { alias: 'u', carriedAs: 'm.user_' });
}
