import { bindCursor } from '../common/cursor.js';
import type { Field } from '../common/field.js';
import { listConditions } from '../database/fields/filters.js';
import { type ProjectedColumns, Projection } from '../database/fields/projection.js';
import {
  byName,
  byTime,
  type NameColumns,
  type PageOrder,
  type PageSource,
} from '../database/paging/page.js';
import { Values } from '../database/statements/statement.js';
import { OrderDirection } from '../graphql/schema/connection.js';
import { roleConditionOf, Group } from './group.model.js';
import { type GroupListArguments, type GroupOrder, GroupOrderField } from './group-list.inputs.js';

export const DEFAULT_ORDER = { field: 'NAME', direction: OrderDirection.ASC } as const;

export const GROUP_TABLE = {
  table: 'groups',
  alias: 'g',
  noun: 'group',
  nodeType: 'Group',
} as const;

/** All groups, or those of one user: then the list begins at the memberships, which have an index for it. */
export function groupSource(
  { filter, orderBy }: GroupListArguments,
  { userKey, parentKey }: { readonly userKey: number | null; readonly parentKey: number | null },
  { columns }: ProjectedColumns,
  fields: readonly Field[],
): PageSource {
  const values = new Values();
  const conditions: string[] = [];
  if (userKey !== null) conditions.push(`m.user_key = ${values.add(userKey)}::integer`);
  if (filter?.role) conditions.push(roleConditionOf(filter.role, values));
  if (parentKey !== null)
    conditions.push(
      `g.key in (select n.inner_key from nestings n where n.outer_key = ${values.add(parentKey)}::integer)`,
    );
  if (typeof filter?.isRoot === 'boolean')
    conditions.push(
      `${filter.isRoot ? 'not ' : ''}exists (select from nestings n where n.inner_key = g.key)`,
    );
  conditions.push(...listConditions(GROUP_TABLE, filter ?? {}, fields, values));
  return {
    binding: () => bindCursor('groups', orderBy ?? DEFAULT_ORDER, filter ?? {}),
    from: userKey === null ? 'groups g' : 'effective_memberships m join groups g on g.key = m.group_key',
    columns,
    underParent: null,
    order: orderOf(
      orderBy ?? DEFAULT_ORDER,
      userKey === null ? ['g.sort_name', 'g.key'] : ['m.group_sort_name', 'm.group_key'],
    ),
    conditions,
    values,
    ...(conditions.length === 0 ? { total: '(select group_count from mirror_state)' } : {}),
  };
}

function orderOf({ field, direction }: GroupOrder, name: NameColumns): PageOrder {
  switch (field) {
    case GroupOrderField.MEMBER_COUNT:
      return byNumber('g.member_count', direction, ['g.sort_name', 'g.key']);
    case GroupOrderField.UPDATED_AT:
      return { columns: byTime('g.updated_at', 'g.key'), direction };
    default:
      return { columns: byName(name), direction };
  }
}

/** Descending order negates the number instead of reversing the order, so that names still ascend among equals. */
export function byNumber(sql: string, direction: OrderDirection, names: NameColumns): PageOrder {
  const number = direction === OrderDirection.DESC ? `(-${sql})` : sql;
  return { columns: [{ sql: number, type: 'number' }, ...byName(names)], direction: 'ASC' };
}

export type NestingDirection = 'parents' | 'subgroups';

/** The groups that directly contain a group, or that it directly contains, by name. */
export function nestedGroupSource(direction: NestingDirection, { columns }: ProjectedColumns): PageSource {
  const [listed, parent] = direction === 'parents' ? ['outer_key', 'inner_key'] : ['inner_key', 'outer_key'];
  return {
    binding: () => bindCursor(direction, {}, {}),
    from: `nestings n join groups g on g.key = n.${listed}`,
    columns,
    underParent: `n.${parent} = parent.key`,
    order: { columns: byName(['g.sort_name', 'g.key']), direction: 'ASC' },
    conditions: [],
    values: new Values(),
  };
}

const MODEL = {
  type: Group,
  list: 'members',
  node: 'group',
  extra: { membersVisibleTo: 'members_visible_to' },
  computed: {
    members: ['key', 'membersVisibleTo'],
    membership: ['key', 'membersVisibleTo'],
    parents: ['key'],
    subgroups: ['key'],
  },
};

export function groupProjection(fields: readonly Field[]): Projection<Group> {
  return new Projection(MODEL, fields, { alias: 'g' });
}

export function joinedGroupProjection(fields: readonly Field[]): Projection<Group> {
  return new Projection(MODEL, fields, { alias: 'g', carriedAs: 'm.group_' });
}
