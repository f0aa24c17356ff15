import { ENTRY_TABLES, storedKeyIn } from '../map/entry-tables.js';
import { EVERY_NAME, namesOf, type NamedByMasks } from '../map/named-by.js';
import { SAME_ID, SAME_UUID } from '../map/relate.js';
import type { EntryKind } from '../../sources/source.js';

// Statements that make the plan of a bulk run from what Staging has written: the functions of src/mirror/map and
// src/mirror/plan as SQL. A test compares both on random directories.

/** Of entries that share an id or an entryUUID, none is known to be the correct one: see gather. */
export const DUPLICATES = `
  create temporary table staged_duplicates as
  with same_uuids as (select kind, uuid from staged_entries group by kind, uuid having count(*) > 1),
    same_ids as (select kind, id_folded from staged_entries group by kind, id_folded having count(*) > 1)
  select e.*, u.uuid is not null as has_same_uuid
  from staged_entries e
    left join same_uuids u on u.kind = e.kind and u.uuid = e.uuid
    left join same_ids i on i.kind = e.kind and i.id_folded = e.id_folded
  where u.uuid is not null or i.id_folded is not null`;

export const READ_DUPLICATES = `
  select kind, dn, uuid, case when not has_same_uuid then id_folded end as id, null as attribute,
    case when has_same_uuid then '${SAME_UUID}' else '${SAME_ID}' end as reason
  from staged_duplicates order by kind desc, place`;

/** Leaves duplicates out of everything that is staged. */
export const WITHOUT_DUPLICATES = [
  'delete from staged_entries e using staged_duplicates d where e.place = d.place',
  ...['staged_keys', 'staged_field_references', 'staged_lacking'].map(
    (table) => `delete from ${table} s using staged_duplicates d where s.kind = d.kind and s.uuid = d.uuid`,
  ),
  ...(
    [
      ['staged_users', 'entry_uuid', 'person'],
      ['staged_groups', 'entry_uuid', 'group'],
      ['staged_regrouped', 'uuid', 'group'],
      ['staged_references', 'group_uuid', 'group'],
    ] as const
  ).map(
    ([table, column, kind]) =>
      `delete from ${table} s using staged_duplicates d where d.kind = '${kind}' and s.${column} = d.uuid`,
  ),
];

/** Mirrored entries that the directory does not have. */
export const DELETIONS = `
  create temporary table staged_deletions as
  select 'person' as kind, e.key, e.entry_uuid as uuid from users e
  where not exists (select from staged_entries s where s.kind = 'person' and s.uuid = e.entry_uuid)
  union all
  select 'group', e.key, e.entry_uuid from groups e
  where not exists (select from staged_entries s where s.kind = 'group' and s.uuid = e.entry_uuid)`;

export const COUNTS = `
  select
    (select count(*)::integer from staged_users where is_new) as "createdPeople",
    (select count(*)::integer from staged_users where not is_new) as "updatedPeople",
    (select count(*)::integer from staged_deletions where kind = 'person') as "deletedPeople",
    (select count(*)::integer from staged_groups where is_new) as "createdGroups",
    (select count(*)::integer from staged_groups where not is_new) as "updatedGroups",
    (select count(*)::integer from staged_deletions where kind = 'group') as "deletedGroups",
    (select count(*)::integer from staged_regrouped) as regrouped`;

/** Keys that now belong to a different entry than before, or to none: see compareEntries. */
export function touchedKeys(masks: NamedByMasks): string {
  const before = (kind: EntryKind) =>
    namesOf(kind, masks).map(
      (by) => `
    select '${kind}' as kind, e.entry_uuid as uuid, ${storedKeyIn('e', by)} as key from ${ENTRY_TABLES[kind]} e
    where e.entry_uuid in (
      select entry_uuid from staged_${ENTRY_TABLES[kind]} where not is_new
      union all select uuid from staged_deletions where kind = '${kind}')`,
    );
  return `
  create temporary table staged_touched as
  with after as (
    select kind, uuid, key from staged_keys where kind = 'person' and uuid in (select entry_uuid from staged_users)
    union all
    select kind, uuid, key from staged_keys where kind = 'group' and uuid in (select entry_uuid from staged_groups)),
  before as (${[...before('person'), ...before('group')].join(' union all ')})
  select key from (table after except table before) as came
  union
  select key from (table before except table after) as went`;
}

/** The mirrored groups whose references are replaced. */
export const REPLACED = `
  create temporary table staged_replaced as
  select g.key, false as is_gone from groups g join staged_regrouped r on r.uuid = g.entry_uuid
  union all
  select key, true from staged_deletions where kind = 'group'`;

/** The memberships and nestings of replaced groups, and those of other groups whose subject has a touched key. */
export function heldRoles(masks: NamedByMasks): string {
  const held = (kind: EntryKind, table: string, group: string, subject: string) => {
    const entries = ENTRY_TABLES[kind];
    const touched = namesOf(kind, masks).map(
      (by) => `
      union
      select r.* from ${table} r where r.${subject} in (
        select s.key from ${entries} s join staged_touched t on t.key = ${storedKeyIn('s', by)})`,
    );
    return `
    select '${kind}' as kind, g.entry_uuid as group_uuid, p.key is not null as is_replaced,
      s.entry_uuid, s.dn_key, s.id_folded, r.named_as
    from (
      select r.* from ${table} r where r.${group} in (select key from staged_replaced)${touched.join('')}) r
      join groups g on g.key = r.${group} join ${entries} s on s.key = r.${subject}
      left join staged_replaced p on p.key = r.${group}`;
  };
  return `
  create temporary table staged_held as
  ${held('person', 'memberships', 'group_key', 'user_key')} union all
  ${held('group', 'nestings', 'outer_key', 'inner_key')}`;
}

/** References without a target, as heldRoles. The unresolved references of a deleted group are deleted together with the group. */
export const HELD_UNRESOLVED = `
  create temporary table staged_held_unresolved as
  select g.entry_uuid as group_uuid, r.dn_key as key, r.named_as, p.key is not null as is_replaced
  from unresolved_references r join groups g on g.key = r.group_key left join staged_replaced p on p.key = r.group_key
    left join staged_touched t on t.key = r.dn_key
  where p.is_gone is not true and (p.key is not null or t.key is not null)`;

/** What each key will name: see chooseSubjects. */
export const SUBJECTS = `
  create temporary table staged_subjects as
  select distinct on (key) key, kind, uuid from staged_keys
  where key not in (select key from staged_keys group by key, kind having count(*) > 1)
  order by key, kind desc`;

/** What groups will name. The references of a group that is not replaced stay, and can name other entries. */
export function wantedRoles(masks: NamedByMasks): string {
  const kept = (['person', 'group'] as const).flatMap((kind) =>
    namesOf(kind, masks).map(
      (by) => `
    select e.group_uuid, ${storedKeyIn('e', by)}, e.named_as & ${masks[by]}::smallint from staged_held e
    where e.kind = '${kind}' and not e.is_replaced and e.named_as & ${masks[by]} > 0`,
    ),
  );
  // With one kind of names, a group names an entry once.
  const isOnce = EVERY_NAME.filter((by) => masks[by] > 0).length === 1;
  return `
  create temporary table staged_wanted as
  with named as (
    select group_uuid, key, named_as from staged_references
    union all
    ${kept.join(' union all ')}
    union all
    select group_uuid, key, named_as from staged_held_unresolved where not is_replaced)
  select n.group_uuid, s.kind, s.uuid, case when s.uuid is null then n.key end as key,
    ${isOnce ? 'n.named_as' : 'bit_or(n.named_as)'} as named_as
  from named n left join staged_subjects s on s.key = n.key and s.uuid <> n.group_uuid
  ${isOnce ? '' : 'group by 1, 2, 3, 4'}`;
}

/** Roles that a plan adds, changes or removes: see RoleChange. */
export function plannedRoles(kind: EntryKind, table: string): string {
  return `
  create temporary table ${table} as
  select group_uuid, uuid, h.named_as as before, w.named_as as after
  from (select group_uuid, entry_uuid as uuid, named_as from staged_held where kind = '${kind}') h
    full join (select group_uuid, uuid, named_as from staged_wanted where kind = '${kind}') w using (group_uuid, uuid)
  where h.named_as is distinct from w.named_as`;
}

export const PLANNED_UNRESOLVED = `
  create temporary table planned_unresolved as
  select group_uuid, key, w.named_as as after
  from staged_held_unresolved h
    full join (select group_uuid, key, named_as from staged_wanted where kind is null) w using (group_uuid, key)
  where h.named_as is distinct from w.named_as`;

/** See countRemovals. */
export const ROLE_COUNTS = `
  select ${['memberships', 'nestings'].map(countRoles).join(', ')},
    (select count(*)::integer from planned_memberships p where p.after is null
       and not exists (select from staged_deletions d where d.kind = 'group' and d.uuid = p.group_uuid)
       and not exists (select from staged_deletions d where d.kind = 'person' and d.uuid = p.uuid)) as removals`;

function countRoles(table: string): string {
  return `
    (select json_build_object('created', count(*) filter (where before is null), 'deleted', count(*) filter (where after is null),
       'updated', count(*) filter (where before is not null and after is not null)) from planned_${table}) as ${table}`;
}
