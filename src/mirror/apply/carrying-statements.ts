import type { DirectoryMapping } from '../../config/model/mapping.js';
import { writtenValues } from '../../database/fields/carried-values.js';
import { carriedColumns } from '../../database/fields/field-columns.js';

/** Statements that contain the user and group columns that memberships duplicate. */
export interface CarryingStatements {
  /** Writes the changes of roles. */
  readonly write: string;
  readonly people: CarriedColumns;
  readonly groups: CarriedColumns;
}

export interface CarriedColumns {
  /** SQL by column of memberships. */
  readonly columns: Readonly<Record<string, string>>;
  readonly table: 'users' | 'groups';
  readonly alias: 'u' | 'g';
  readonly key: 'user_key' | 'group_key';
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
    write: writeStatement({ ...ofPerson, ...ofGroup, ...writtenValues(users.fields) }),
    people: { columns: ofPerson, table: 'users', alias: 'u', key: 'user_key' },
    groups: { columns: ofGroup, table: 'groups', alias: 'g', key: 'group_key' },
  };
}

function prefixed(prefix: string, columns: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(columns).map(([name, sql]) => [`${prefix}${name}`, sql]));
}

/** Updates the duplicated columns of the users or groups with the entryUUIDs $1. */
export function carriedFrom(carried: CarriedColumns): string {
  const { table, alias } = carried;
  return carry(carried, `${table} ${alias}`, `${alias}.entry_uuid = any ($1::uuid[])`);
}

/**
 * Adds the same update to a statement that writes users or groups.
 * @param upsert a statement that can return what it has written
 */
export function withCarried(carried: CarriedColumns, upsert: string): string {
  return `with written as (${upsert} returning *) ${carry(carried, `written ${carried.alias}`, 'true')}`;
}

/** Writes only rows in which a value differs. */
function carry({ columns: carried, alias, key }: CarriedColumns, from: string, condition: string): string {
  const columns = Object.keys(carried);
  const values = Object.values(carried);
  return `
    update effective_memberships m set ${columns.map((column, index) => `${column} = ${values[index] ?? ''}`).join(', ')}
    from ${from}
    where m.${key} = ${alias}.key and ${condition}
      and (${columns.map((column) => `m.${column}`).join(', ')}) is distinct from (${values.join(', ')})`;
}

/**
 * One statement for roles and counters: its parts change different rows. Rows are inserted in the order of the widest index, which
 * is faster.
 */
const writeStatement = (carried: Record<string, string>) => `
  with gone as (
    delete from effective_memberships m using effective_changes c
    where m.group_key = c.group_key and m.user_key = c.user_key and c.role_after is null
  ),
  changed as (
    update effective_memberships m
    set role = c.role_after, direct_role = c.direct_role, inherited_from = c.inherited_from
    from effective_changes c
    where m.group_key = c.group_key and m.user_key = c.user_key and c.role_before is not null and c.role_after is not null
  ),
  added as (
    insert into effective_memberships
      (group_key, user_key, role, direct_role, inherited_from,
       ${Object.keys(carried).join(', ')})
    select c.group_key, c.user_key, c.role_after, c.direct_role, c.inherited_from,
      ${Object.values(carried).join(', ')}
    from effective_changes c join users u on u.key = c.user_key join groups g on g.key = c.group_key
    where c.role_before is null
    order by c.group_key, u.sort_name, c.user_key
  ),
  counted as (
    update groups g set member_count = g.member_count + c.more
    from (select group_key, count(role_after) - count(role_before) as more from effective_changes group by group_key) c
    where g.key = c.group_key and c.more <> 0
  )
  update users u set group_count = u.group_count + c.more
  from (select user_key, count(role_after) - count(role_before) as more from effective_changes group by user_key) c
  where u.key = c.user_key and c.more <> 0`;
