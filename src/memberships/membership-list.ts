import { bindCursor } from '../common/cursor.js';
import type { Field } from '../common/field.js';
import type { PageSelection, SelectedFields } from '../common/page.js';
import { fieldConditions } from '../database/fields/filters.js';
import { parseSearch, searchCondition } from '../database/fields/search-text.js';
import type { ProjectedColumns, Projection } from '../database/fields/projection.js';
import { byName, byTime, type PageOrder, type PageSource, readPages } from '../database/paging/page.js';
import { Values } from '../database/statements/statement.js';
import type { Batches } from '../graphql/http/request-context.js';
import { Connection } from '../graphql/schema/connection.js';
import { type Group, roleConditionOf, roleOf } from '../groups/group.model.js';
import { byNumber, DEFAULT_ORDER } from '../groups/group.queries.js';
import type { User } from '../users/user.model.js';
import { BY_FAMILY_NAME } from '../users/user.queries.js';
import {
  CurrentGroupMembershipInheritance,
  type GroupMembership,
  type MembershipArguments,
  type MembershipFilter,
  type MembershipOrder,
  MembershipOrderField,
  MembershipOrigin,
} from './membership.model.js';

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
    underParent: 'm.group_key = parent.key',
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
    underParent: 'm.user_key = parent.key',
    key: 'm.group_key',
    names: ['m.group_sort_name', 'm.group_key'],
    total: '(select counted.group_count from users counted where counted.key = parent.key)',
  },
} as const;

/** What is read of memberships: the columns of the role, then those of the listed node. */
interface MembershipColumns {
  readonly role: ProjectedColumns;
  readonly node: ProjectedColumns;
}

/** The memberships of users or of groups, as a connection lists them. */
export class MembershipList {
  private readonly known = new WeakMap<SelectedFields, MembershipColumns>();

  /** @param projection reads the listed objects. @param userFields some of which filter the members of a group */
  constructor(
    private readonly side: Side,
    private readonly projection: Projection<User> | Projection<Group>,
    private readonly userFields: readonly Field[],
  ) {}

  /** Equal for equal pages of different parents, which are read together, and of the page that was read with its parent. */
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

  /** The page below a parent: read together with it by DirectoryObjects, or in one statement with the pages of the same level. */
  async list(
    parent: User | Group,
    page: MembershipArguments,
    selection: PageSelection,
    batches: Batches,
  ): Promise<Connection<GroupMembership>> {
    const columns = this.select(selection);
    const cacheKey = this.cacheKeyOf(page, selection);
    const { membershipsAhead: ahead } = parent;
    const rows =
      ahead?.cacheKey === cacheKey
        ? ahead.page
        : await batches.load(cacheKey, parent.key, (keys, reader) =>
            readPages(reader, this.sourceOf(page, columns), page, selection, keys),
          );
    return Connection.of(rows, (row) => this.map(row, columns, parent));
  }

  /**
   * @param only the key of the only object to list; null: all
   * @throws BadUserInputError when the search of the filter is too short or too long, or a list is too long
   */
  sourceOf(
    { filter, orderBy }: MembershipArguments,
    { role: roleColumns, node }: MembershipColumns,
    only: number | null = null,
  ): PageSource {
    const { origin = MembershipOrigin.ANY } = filter ?? {};
    const { binding, joined, ofAlias, underParent, total, key } = SIDES[this.side];
    const columns = [...roleColumns.columns, ...node.columns];
    const values = new Values();
    const conditions = this.conditionsOf(filter ?? {}, values);
    if (only !== null) conditions.push(`${key} = ${values.add(only)}::integer`);
    const order = this.orderOf(orderBy ?? DEFAULT_ORDER);
    const ordered = order.columns.map(({ sql }) => sql);
    const isJoined = [...columns, ...conditions, ...ordered].some((sql) => ofAlias.test(sql));
    return {
      // All parts of the filter, of which an omitted origin is the default.
      binding: () => bindCursor(binding, orderBy ?? DEFAULT_ORDER, Object.assign({}, filter, { origin })),
      from: `effective_memberships m${isJoined ? ` ${joined}` : ''}`,
      columns,
      underParent,
      order,
      conditions,
      values,
      ...(conditions.length === 0 ? { total } : {}),
    };
  }

  map(row: readonly unknown[], { role, node }: MembershipColumns, parent: User | Group): GroupMembership {
    const listed = this.projection.mapRow(row, node, role.columns.length);
    const [user, group] = this.side === 'members' ? [listed, parent] : [parent, listed];
    return { role: mapRole(row, role), user: user as User, group: group as Group };
  }

  private conditionsOf(filter: MembershipFilter, values: Values): string[] {
    const { role, origin, search } = filter;
    const conditions: string[] = [];
    if (role) conditions.push(roleConditionOf(role, values));
    if (origin === MembershipOrigin.DIRECT) conditions.push('m.direct_role is not null');
    if (origin === MembershipOrigin.NESTED) conditions.push('m.direct_role is null');
    if (search !== undefined && search !== null) {
      conditions.push(searchCondition(SIDES[this.side].alias, parseSearch(search, 'search'), values));
    }
    const byField = fieldConditions(this.userFields, filter, values, 'f');
    if (byField.length > 0)
      conditions.push(`m.user_key in (select f.key from users f where ${byField.join(' and ')})`);
    return conditions;
  }

  private orderOf({ field, direction }: MembershipOrder): PageOrder {
    const { alias, names } = SIDES[this.side];
    switch (field) {
      case MembershipOrderField.ROLE:
        return byNumber('m.role', direction, names);
      case MembershipOrderField.FAMILY_NAME:
        return { columns: this.side === 'members' ? BY_FAMILY_NAME : byName(names), direction };
      case MembershipOrderField.CREATED_AT:
        return { columns: byTime(`${alias}.created_at`, `${alias}.key`), direction };
      default:
        return { columns: byName(names), direction };
    }
  }
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
