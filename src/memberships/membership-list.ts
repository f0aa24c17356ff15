import { bindCursor } from '../common/cursor.js';
import { BadUserInputError } from '../common/errors.js';
import { type Field, pluralOf } from '../common/field.js';
import type { PageSelection, SelectedFields } from '../common/page.js';
import { comparedColumns, comparedSqlOf } from '../database/fields/field-columns.js';
import { fieldConditions, hasOnly } from '../database/fields/filter-conditions.js';
import { parseSearch, searchCondition } from '../database/fields/search-text.js';
import { valueConditions } from '../database/fields/value-filters.js';
import type { ProjectedColumns, Projection } from '../database/fields/projection.js';
import { byName, type PageOrder, type PageReads, type PageSource } from '../database/paging/page-source.js';
import { ALL_GROUPS, ALL_USERS } from '../database/statements/dependencies.js';
import { Values } from '../database/statements/statement.js';
import { OrderDirection } from '../graphql/schema/connection.js';
import { roleConditionOf, roleOf } from '../groups/group.model.js';
import {
  type MembershipArguments,
  type MembershipOrder,
  MembershipOrderField,
  MembershipOrigin,
  type UserMemberFilter,
} from './membership.inputs.js';
import { CurrentGroupMembershipInheritance } from './membership.model.js';

const DEFAULT_ORDER: MembershipOrder = { field: MembershipOrderField.NAME, direction: OrderDirection.ASC };

/** The side from which memberships are listed: the users of groups, or the groups of users. */
type Side = 'members' | 'groups';

const SIDES = {
  members: {
    node: 'user',
    binding: 'members of a group',
    // The join is only needed for columns that memberships do not carry.
    joined: 'join users u on u.key = m.user_key',
    alias: 'u',
    ofAlias: /(?<!\w)u\./,
    parent: 'm.group_key',
    list: 'members',
    key: 'm.user_key',
    names: ['m.user_sort_name', 'm.user_key'],
    total: '(select counted.member_count from groups counted where counted.key = parent.key)',
  },
  groups: {
    node: 'group',
    binding: 'groups of a person',
    joined: 'join groups g on g.key = m.group_key',
    alias: 'g',
    ofAlias: /(?<!\w)g\./,
    parent: 'm.user_key',
    list: 'memberOf',
    key: 'm.group_key',
    names: ['m.group_sort_name', 'm.group_key'],
    total: '(select counted.group_count from users counted where counted.key = parent.key)',
  },
} as const;

/** What is read of memberships: the columns of the role, then those of the listed node. */
export interface MembershipColumns {
  readonly role: ProjectedColumns;
  readonly node: ProjectedColumns;
}

/** The memberships of users or of groups, as a connection lists them. */
export class MembershipList<Node extends object> {
  private readonly known = new WeakMap<SelectedFields, MembershipColumns>();
  /** Members of UserMemberFilter for fields with `filter`, such as `schoolYear` and `schoolYears`. */
  private readonly exactFilters: readonly string[];

  /** @param projection reads the listed objects. @param userFields some of which filter memberships */
  constructor(
    private readonly side: Side,
    private readonly projection: Projection<Node>,
    private readonly userFields: readonly Field[],
  ) {
    this.exactFilters = userFields
      .filter((field) => field.filter !== undefined)
      .flatMap(({ name }) => [name, pluralOf(name)]);
  }

  /** Equal for equal pages of different parents, which are read together, and of equal lists: see MembershipsService. */
  cacheKeyOf(
    { first, after, last, before, filter, orderBy }: MembershipArguments,
    selection: PageSelection,
  ): string {
    const others = [after, before, filter, orderBy];
    // The first and the last page are requested most, and stringify costs as much as all other steps here.
    const rest = others.every((each) => (each ?? null) === null) ? '' : JSON.stringify(others);
    return `${this.side} ${selection.cacheKey} ${first} ${last} ${rest}`;
  }

  select({ node: membership }: PageSelection): MembershipColumns {
    let columns = this.known.get(membership);
    if (columns === undefined) {
      const role = selectRole(membership.get('role') ?? new Map());
      columns = { role, node: this.projection.select(membership.get(SIDES[this.side].node) ?? new Map()) };
      this.known.set(membership, columns);
    }
    return columns;
  }

  /**
   * @throws BadUserInputError when the search of the filter is too short or too long, or when the groups of a user are filtered
   * by `schoolYear`
   */
  sourceOf(
    { filter, orderBy }: MembershipArguments,
    { role: roleColumns, node }: MembershipColumns,
  ): PageSource {
    const { origin = MembershipOrigin.ANY } = filter ?? {};
    const { binding, joined, ofAlias, parent, total } = SIDES[this.side];
    const columns = [...roleColumns.columns, ...node.columns];
    const values = new Values();
    const conditions = this.conditionsOf(filter ?? {}, values);
    const isJoined = [...columns, ...conditions].some((sql) => ofAlias.test(sql));
    if (this.side === 'groups') refuseGiven(filter ?? {}, this.exactFilters);
    return {
      // All parts of the filter, of which an omitted origin is the default.
      binding: bindCursor(binding, orderBy ?? DEFAULT_ORDER, Object.assign({}, filter, { origin })),
      from: `effective_memberships m${isJoined ? ` ${joined}` : ''}`,
      columns,
      instants: this.projection.instants,
      parent,
      order: this.orderOf(orderBy ?? null),
      conditions,
      values,
      ...(conditions.length === 0 ? { total } : {}),
      reads: this.readsOf(filter ?? {}, node),
    };
  }

  private readsOf(filter: UserMemberFilter, { columns }: ProjectedColumns): PageReads {
    const { list, alias, key } = SIDES[this.side];
    const isPlain = hasOnly(filter, ['role', 'origin']);
    const table = alias === 'u' ? 'users' : 'groups';
    return {
      bits: isPlain ? 0 : ALL_USERS | ALL_GROUPS,
      parent: [list],
      ...(columns.length === 0 ? {} : { rows: { key, tables: [table] } }),
    };
  }

  mapNode(row: readonly unknown[], { role, node }: MembershipColumns): Node {
    return this.projection.mapRow(row, node, role.columns.length);
  }

  mapRole(row: readonly unknown[], { role }: MembershipColumns): CurrentGroupMembershipInheritance {
    return mapRole(row, role);
  }

  private conditionsOf(filter: UserMemberFilter, values: Values): string[] {
    const { role, origin, search } = filter;
    const conditions: string[] = [];
    if (role) conditions.push(roleConditionOf(role, values));
    if (origin === MembershipOrigin.DIRECT) conditions.push('m.direct_role is not null');
    if (origin === MembershipOrigin.NESTED) conditions.push('m.direct_role is null');
    if (search !== undefined && search !== null) {
      conditions.push(searchCondition(SIDES[this.side].alias, parseSearch(search, 'search'), values));
    }
    const byValue = valueConditions(this.userFields, filter, values, 'f');
    if (byValue.length > 0)
      conditions.push(`m.user_key in (select f.key from users f where ${byValue.join(' and ')})`);
    return [...conditions, ...fieldConditions(this.userFields, filter, values, fieldCondition)];
  }

  private orderOf(orderBy: MembershipOrder | null): PageOrder {
    const names = byName(SIDES[this.side].names);
    const direction = orderBy?.direction ?? OrderDirection.ASC;
    if (orderBy?.field !== MembershipOrderField.ROLE) return { columns: names, direction };
    // Descending order negates the rank instead of reversing the order, so that names still ascend among equals.
    const rank = direction === OrderDirection.DESC ? '(-m.role)' : 'm.role';
    return { columns: [{ sql: rank, type: 'integer' }, ...names], direction: 'ASC' };
  }
}

function refuseGiven(filter: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const given = names.find((name) => (filter[name] ?? null) !== null);
  if (given === undefined) return;
  throw new BadUserInputError(`The filter ${given} selects users, and not the groups of a user`, given);
}

function fieldCondition(field: Field, value: string): string {
  const [column] = comparedColumns(field);
  if (field.isCarried === true && column !== undefined) return `m.user_${column} = ${value}`;
  return `m.user_key in (select f.key from users f where ${comparedSqlOf(field, 'f')} = ${value})`;
}

const COLUMNS = {
  value: 'm.role',
  direct: 'm.direct_role',
  inheritedFrom: 'm.inherited_from',
} as const;

type Property = keyof typeof COLUMNS;
const PROPERTIES = Object.keys(COLUMNS) as Property[];

function selectRole(fields: SelectedFields): ProjectedColumns {
  return columnsOf(PROPERTIES.filter((property) => fields.has(property)));
}

export const WHOLE_ROLE = columnsOf(PROPERTIES);

export function mapRole(
  row: readonly unknown[],
  { properties }: ProjectedColumns,
): CurrentGroupMembershipInheritance {
  const role = new CurrentGroupMembershipInheritance();
  properties.forEach((property, index) => {
    const value = row[index];
    if (property === 'value') role.value = roleOf(value as number);
    else if (property === 'direct') role.direct = value === null ? null : roleOf(value as number);
    else role.inheritedFromKeys = value as number[];
  });
  return role;
}

function columnsOf(properties: readonly Property[]): ProjectedColumns {
  return { properties, columns: properties.map((property) => COLUMNS[property]) };
}
