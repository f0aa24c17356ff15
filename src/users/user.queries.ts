import { boundedList, foldAddress, foldId } from '../common/identity.js';
import { bindCursor } from '../common/cursor.js';
import type { Field } from '../common/field.js';
import { isInAudience } from '../database/visibility/conditions.js';
import { listConditions, listReads } from '../database/fields/filter-conditions.js';
import { addressOf, type TableNames } from '../database/fields/object-table.js';
import { type ProjectedColumns, Projection } from '../database/fields/projection.js';
import {
  byName,
  byUpdate,
  type NameColumns,
  type PageOrder,
  type PageSource,
} from '../database/paging/page-source.js';
import type { KeyValue } from '../database/statements/dependencies.js';
import { Values } from '../database/statements/statement.js';
import { OrderDirection } from '../graphql/schema/connection.js';
import { roleConditionOf } from '../groups/group.model.js';
import { addressField, User } from './user.model.js';
import { type UserListArguments, UserOrderField } from './user-list.inputs.js';

const DEFAULT_ORDER = { field: UserOrderField.NAME, direction: OrderDirection.ASC };

export const USER_TABLE = {
  table: 'users',
  alias: 'u',
  noun: 'user',
  nodeType: 'User',
  total: 'u.group_count',
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
  { instants }: Projection<User>,
  fields: readonly Field[],
): PageSource {
  const values = new Values();
  const conditions: string[] = [];
  const keys: KeyValue[] = [];
  if (groupKey !== null) {
    keys.push(['members', values.all.length]);
    conditions.push(`m.group_key = ${values.add(groupKey)}::integer`);
  }
  if (filter?.role) conditions.push(roleConditionOf(filter.role, values));
  conditions.push(...ownConditions(filter ?? {}, fields, values));
  conditions.push(...listConditions(USER_TABLE, filter ?? {}, fields, values));
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
    ...totalOf(conditions),
    reads: listReads('users', { filter, order: orderBy?.field }, FOUND_BY, keys),
  };
}

/** A cached list with only these filters depends on ids, names and memberships; one with others on all values of users. */
const FOUND_BY = ['ids', 'memberOf', 'role', 'search'];

const IS_ACTIVE = 'u.is_active';

/** The total without counting all users. Almost all are active, so the others are counted. */
function totalOf([condition, ...others]: readonly string[]): Pick<PageSource, 'total'> {
  const all = '(select user_count from mirror_state)';
  if (condition === undefined) return { total: all };
  const inactive = '(select count(*)::integer from users u where not u.is_active)';
  return condition === IS_ACTIVE && others.length === 0 ? { total: `${all} - ${inactive}` } : {};
}

/** @throws BadUserInputError when a list is too long */
function ownConditions(
  { ids, emails, active, updatedSince }: NonNullable<UserListArguments['filter']>,
  fields: readonly Field[],
  values: Values,
): string[] {
  const conditions: string[] = [];
  if (ids) conditions.push(`u.id_folded = any (${values.add(boundedList(ids, 'ids').map(foldId))}::text[])`);
  if (emails) {
    const addresses = values.add(boundedList(emails, 'emails').map(foldAddress));
    const audience = addressField(fields)?.visibleTo;
    conditions.push(`${addressOf('u')} = any (${addresses}::text[])`);
    if (audience !== undefined) conditions.push(isInAudience(audience, 'user', 'u.key'));
  }
  if (updatedSince) conditions.push(`u.updated_at >= ${values.add(updatedSince)}::timestamptz`);
  if (typeof active === 'boolean') conditions.push(active ? IS_ACTIVE : 'not u.is_active');
  return conditions;
}

function orderOf(orderBy: UserListArguments['orderBy'], name: NameColumns): PageOrder {
  const direction = orderBy?.direction ?? OrderDirection.ASC;
  switch (orderBy?.field) {
    case UserOrderField.SCHOOL_YEAR:
      return {
        columns: [
          { sql: `coalesce(u.school_year_compared, '')`, type: 'text' },
          ...byName(['u.sort_name', 'u.key']),
        ],
        direction,
      };
    case UserOrderField.UPDATED_AT:
      return { columns: byUpdate('u'), direction };
    default:
      return { columns: byName(name), direction };
  }
}

const MODEL = { type: User, list: 'groups', node: 'user', computed: { groups: ['key'] } };

/** Users, read from their table `u`. */
export function userProjection(fields: readonly Field[]): Projection<User> {
  return new Projection(MODEL, fields, { alias: 'u' });
}

/** Users in memberships `m`, whose carried columns save the join with `users u`. */
export function memberProjection(fields: readonly Field[]): Projection<User> {
  return new Projection(MODEL, fields, { alias: 'u', carriedAs: 'm.user_', carriesValues: true });
}
