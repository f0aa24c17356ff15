import { bindCursor } from '../common/cursor.js';
import type { Field } from '../common/field.js';
import { listConditions } from '../database/fields/filters.js';
import type { TableNames } from '../database/fields/object-table.js';
import { type ProjectedColumns, Projection } from '../database/fields/projection.js';
import { byName, byTime, type OrderColumn, type PageSource } from '../database/paging/page.js';
import { Values } from '../database/statements/statement.js';
import { roleConditionOf } from '../groups/group.model.js';
import { DEFAULT_ORDER } from '../groups/group.queries.js';
import { addressField, User } from './user.model.js';
import { type UserListArguments, UserOrderField } from './user-list.inputs.js';

const USER_TABLE = {
  table: 'users',
  alias: 'u',
  noun: 'user',
  nodeType: 'User',
} as const;

/** USER_TABLE with the audience of the e-mail address, which lookups by address respect. */
export function userTable(fields: readonly Field[]): TableNames {
  return { ...USER_TABLE, addressVisibleTo: addressField(fields)?.visibleTo };
}

/** All users, or those of one group: then the list begins at the memberships, which have an index for it. */
export function userSource(
  { filter, orderBy }: UserListArguments,
  groupKey: number | null,
  { columns }: ProjectedColumns,
  fields: readonly Field[],
): PageSource {
  const { field, direction } = orderBy ?? DEFAULT_ORDER;
  const values = new Values();
  const conditions = groupKey === null ? [] : [`m.group_key = ${values.add(groupKey)}::integer`];
  conditions.push(...conditionsOf(filter ?? {}, fields, values));
  return {
    binding: () => bindCursor('users', orderBy ?? DEFAULT_ORDER, filter ?? {}),
    from: groupKey === null ? 'users u' : 'effective_memberships m join users u on u.key = m.user_key',
    columns,
    underParent: null,
    order: {
      columns:
        ORDERS[field] ??
        byName(groupKey === null ? ['u.sort_name', 'u.key'] : ['m.user_sort_name', 'm.user_key']),
      direction,
    },
    conditions,
    values,
    ...totalOf(conditions),
  };
}

function conditionsOf(
  filter: NonNullable<UserListArguments['filter']>,
  fields: readonly Field[],
  values: Values,
): string[] {
  const conditions: string[] = [];
  if (filter.role) conditions.push(roleConditionOf(filter.role, values));
  if (typeof filter.active === 'boolean') conditions.push(filter.active ? IS_ACTIVE : 'not u.is_active');
  return [...conditions, ...listConditions(USER_TABLE, filter, fields, values)];
}

const IS_ACTIVE = 'u.is_active';

/** The total without counting all users. Almost all are active, so the others are counted. */
function totalOf([condition, ...others]: readonly string[]): Pick<PageSource, 'total'> {
  const all = '(select user_count from mirror_state)';
  if (condition === undefined) return { total: all };
  const inactive = '(select count(*)::integer from users u where not u.is_active)';
  return condition === IS_ACTIVE && others.length === 0 ? { total: `${all} - ${inactive}` } : {};
}

/** An index has this order, so that large lists need no sort. */
export const BY_FAMILY_NAME: OrderColumn[] = [
  { sql: 'u.family_sort_name', type: 'text' },
  ...byName(['u.sort_name', 'u.key']),
];

const ORDERS: Readonly<Partial<Record<UserOrderField, OrderColumn[]>>> = {
  [UserOrderField.SCHOOL_YEAR]: [
    { sql: `coalesce(u.school_year_compared, '')`, type: 'text' },
    ...byName(['u.sort_name', 'u.key']),
  ],
  [UserOrderField.FAMILY_NAME]: BY_FAMILY_NAME,
  [UserOrderField.CREATED_AT]: byTime('u.created_at', 'u.key'),
  [UserOrderField.UPDATED_AT]: byTime('u.updated_at', 'u.key'),
};

const MODEL = {
  type: User,
  list: 'groups',
  node: 'user',
  computed: { groups: ['key'], membership: ['key', 'id'] },
};

/** Users, read from their table `u`. */
export function userProjection(fields: readonly Field[]): Projection<User> {
  return new Projection(MODEL, fields, { alias: 'u' });
}

/** Users in memberships `m`, whose carried columns save the join with `users u`. */
export function memberProjection(fields: readonly Field[]): Projection<User> {
  return new Projection(MODEL, fields, { alias: 'u', carriedAs: 'm.user_' });
}
