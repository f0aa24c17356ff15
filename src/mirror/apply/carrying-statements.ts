import type { DirectoryMapping } from '../../config/model/mapping.js';
import { writtenValues } from '../../database/fields/carried-values.js';
import { carriedColumns } from '../../database/fields/field-columns.js';

/** Statements that contain the user and group columns that memberships duplicate. */
export interface CarryingStatements {
  readonly write: readonly string[];
  /** Updates the duplicated columns of the users, or of the groups, with the entryUUIDs $1. */
  readonly carryPeople: string;
  readonly carryGroups: string;
}

export function carryingStatements({ users, groups }: DirectoryMapping): CarryingStatements {
  const ofPerson = prefixed('user_', { ...carriedColumns(users.fields, 'u'), visible_to: 'u.visible_to' });
  const ofGroup = prefixed('group_', {
    ...carriedColumns(groups.fields, 'g'),
    visible_to: 'g.visible_to',
    members_visible_to: 'g.members_visible_to',
  });
  return {
    // A trigger carries later values.
    write: writeStatements({ ...ofPerson, ...ofGroup, ...writtenValues(users.fields) }),
    carryPeople: carryAgain(ofPerson, 'users u', 'u.key = m.user_key and u.entry_uuid = any ($1::uuid[])'),
    carryGroups: carryAgain(ofGroup, 'groups g', 'g.key = m.group_key and g.entry_uuid = any ($1::uuid[])'),
  };
}

function prefixed(prefix: string, columns: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(columns).map(([name, sql]) => [`${prefix}${name}`, sql]));
}

/** Writes only rows in which a value differs. */
function carryAgain(carried: Record<string, string>, from: string, condition: string): string {
  const columns = Object.keys(carried);
  const values = Object.values(carried);
  return `
    update effective_memberships m set ${columns.map((column, index) => `${column} = ${values[index] ?? ''}`).join(', ')}
    from ${from}
    where ${condition}
      and (${columns.map((column) => `m.${column}`).join(', ')}) is distinct from (${values.join(', ')})`;
}

/** Rows are inserted in the order of the widest index, which is faster. */
const writeStatements = (carried: Record<string, string>) => [
  `delete from effective_memberships m using effective_changes c
   where m.group_key = c.group_key and m.user_key = c.user_key and c.role_after is null`,
  `update effective_memberships m
   set role = c.role_after, direct_role = c.direct_role, inherited_from = c.inherited_from
   from effective_changes c
   where m.group_key = c.group_key and m.user_key = c.user_key and c.role_before is not null and c.role_after is not null`,
  `insert into effective_memberships
     (group_key, user_key, role, direct_role, inherited_from,
      ${Object.keys(carried).join(', ')})
   select c.group_key, c.user_key, c.role_after, c.direct_role, c.inherited_from,
     ${Object.values(carried).join(', ')}
   from effective_changes c join users u on u.key = c.user_key join groups g on g.key = c.group_key
   where c.role_before is null
   order by c.group_key, u.sort_name, c.user_key`,
  `update groups g set member_count = g.member_count + c.more
   from (select group_key, count(role_after) - count(role_before) as more from effective_changes group by group_key) c
   where g.key = c.group_key and c.more <> 0`,
  `update users u set group_count = u.group_count + c.more
   from (select user_key, count(role_after) - count(role_before) as more from effective_changes group by user_key) c
   where u.key = c.user_key and c.more <> 0`,
];
