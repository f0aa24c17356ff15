import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { ObjectKind } from '../../database/fields/field-references.js';
import type { Writer } from '../../database/statements/statement.js';
import { groupColumns, personColumns, upsertStatement } from '../apply/apply-entries.js';
import {
  deleteRoles,
  deleteUnresolved,
  MEMBERSHIPS,
  NESTINGS,
  upsertRoles,
  upsertUnresolved,
} from '../apply/apply-references.js';
import { deleteReferences, insertReferences } from '../apply/write-references.js';
import type { EntryKind } from '../../sources/source.js';

const TABLES = [
  ['person', 'users', 'user'],
  ['group', 'groups', 'group'],
] as const satisfies readonly (readonly [EntryKind, string, ObjectKind])[];

/** Writes the entries and roles of a BulkPlan from its tables, as applyEntries writes those of a plan. */
export async function applyBulk(
  writer: Writer,
  mapping: DirectoryMapping,
  now: Date,
  signal: AbortSignal,
): Promise<void> {
  const upserts = {
    users: upsertStatement('users', personColumns(mapping, null), stagedIn('staged_users')),
    groups: upsertStatement('groups', groupColumns(mapping, null), stagedIn('staged_groups')),
  };
  const run = async (text: string, values: unknown[] = []) => {
    signal.throwIfAborted();
    await writer.query(text, values);
  };
  await run(NOTE_HIDDEN);
  for (const [kind, table] of TABLES)
    await run(`delete from ${table} where key in (select key from staged_deletions where kind = '${kind}')`);
  for (const [kind, table, object] of TABLES) {
    await run(upserts[table], [now]);
    await run(deleteReferences(object, `select entry_uuid from staged_${table} where not is_new`));
    await run(
      insertReferences(object, `(select * from staged_field_references where kind = '${kind}') given`),
    );
  }
  for (const statement of [...ROLES, ...REFERENCES]) await run(statement);
  await run(TOUCH, [now]);
}

/** In the order of names, so that pages of names read neighboring rows. */
function stagedIn(table: string) {
  return { from: `(select * from ${table} order by sort_name) as given`, now: '$1::timestamptz' };
}

const ROLES = [MEMBERSHIPS, NESTINGS].flatMap((roles) => [
  deleteRoles(roles, `(select * from planned_${roles.table} where after is null) r`),
  upsertRoles(roles, `(select * from planned_${roles.table} where after is not null) r`),
]);

/** See applyReferences. */
export const REFERENCES = [
  `update groups g set references_hash = r.references_hash from staged_regrouped r
   where g.entry_uuid = r.uuid and not r.is_new`,
  deleteUnresolved('(select * from planned_unresolved where after is null) r'),
  upsertUnresolved('(select * from planned_unresolved where after is not null) r'),
];

/** The groups whose direct members or nested groups change. */
export const CHANGED_GROUPS = `
  select group_uuid as uuid from planned_memberships union select group_uuid from planned_nestings`;

/** The entries that some viewers do not see, before the run. */
const NOTE_HIDDEN = `
  create temporary table hidden_before on commit drop as
  select entry_uuid as uuid from users where visible_to > 0 union all
  select entry_uuid from groups where visible_to > 0`;

/** As touchedGroups (touch-groups.ts) decides for a plan: a group is updated for everyone if everyone can see one of its changes. */
const TOUCH = `
  update groups g set updated_at = $1,
    shown_updated_at = case when not r.is_shown then coalesce(g.shown_updated_at, g.updated_at) end
  from (
    select c.group_uuid as uuid, bool_or(o.members_visible_to = 0 and case
        when c.after is null then h.uuid is null
        else coalesce(u.visible_to, s.visible_to, 0) = 0 end) as is_shown
    from (
      select group_uuid, uuid as subject, after from planned_memberships union all
      select group_uuid, uuid, after from planned_nestings) c
    join groups o on o.entry_uuid = c.group_uuid
    left join users u on u.entry_uuid = c.subject
    left join groups s on s.entry_uuid = c.subject
    left join hidden_before h on h.uuid = c.subject
    group by c.group_uuid) r
  where g.entry_uuid = r.uuid and g.updated_at <> $1`;
