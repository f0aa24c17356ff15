import { lookupCondition, type TableNames } from '../database/fields/object-table.js';
import type { LookupKey } from '../common/object-lookup.js';
import { REVISION, type Statement, statement } from '../database/statements/statement.js';
import type { ProjectedColumns } from '../database/fields/projection.js';
import type { SelectedFields } from '../common/page.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import { roleOf } from '../groups/group-role.js';
import { CurrentGroupMembershipInheritance } from './membership.model.js';

const COLUMNS = {
  value: 'm.role',
  direct: 'm.direct_role',
  inheritedFrom: 'm.inherited_from',
} as const;

type Property = keyof typeof COLUMNS;
const PROPERTIES = Object.keys(COLUMNS) as Property[];

export function selectRole(fields: SelectedFields): ProjectedColumns {
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

/** Keys of a user and a group by their identities, and the effective role of the user in the group. */
export function findRole(users: TableNames, user: LookupKey, group: LookupKey): Statement {
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
    { returnsRevision: true, isShort: true },
  );
}

export type FindRoleRow = [
  userKey: number | null,
  groupKey: number | null,
  role: number | null,
  membersVisibleTo: number | null,
  userId: string | null,
];

/** The role of a user in a group, by their keys. */
export const FIND_MEMBERSHIP = statement(
  `select ${WHOLE_ROLE.columns.join(', ')} from effective_memberships m where m.user_key = $1 and m.group_key = $2`,
);
