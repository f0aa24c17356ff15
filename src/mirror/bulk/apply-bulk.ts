import type { DirectoryMapping } from '../../config/model/mapping.js';
import { REFERENCE_TABLES } from '../../database/fields/field-references.js';
import type { Writer } from '../../database/statements/statement.js';
import { groupColumns, personColumns, upsertStatement } from '../apply/apply-entries.js';
import type { EntryKind } from '../../sources/source.js';

const TABLES = [
  ['person', 'users', REFERENCE_TABLES.user],
  ['group', 'groups', REFERENCE_TABLES.group],
] as const satisfies readonly (readonly [EntryKind, string, string])[];

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
  for (const [kind, table] of TABLES)
    await run(`delete from ${table} where key in (select key from staged_deletions where kind = '${kind}')`);
  for (const [kind, table, references] of TABLES) {
    await run(upserts[table], [now]);
    await run(
      `delete from ${references} r using ${table} o join staged_${table} s on s.entry_uuid = o.entry_uuid
       where r.from_key = o.key and not s.is_new`,
    );
    await run(
      `insert into ${references} (field, from_key, target, from_sort_name)
       select f.field, o.key, f.target, o.sort_name
       from staged_field_references f join ${table} o on o.entry_uuid = f.uuid where f.kind = '${kind}'`,
    );
  }
  for (const statement of [...ROLES, ...REFERENCES]) await run(statement);
  await run(TOUCH, [now]);
}

/** In the order of names, so that pages of names read neighboring rows. */
function stagedIn(table: string) {
  return { from: `(select * from ${table} order by sort_name) as given`, now: '$1::timestamptz' };
}

const RANK = 'case when p.after >= 4 then 3 when p.after >= 2 then 2 else 1 end';

function writeRoles(table: string, subjects: string, group: string, subject: string): string[] {
  const joined = `from planned_${table} p join groups g on g.entry_uuid = p.group_uuid join ${subjects} s on s.entry_uuid = p.uuid`;
  return [
    `delete from ${table} t using (select g.key as group_key, s.key as subject_key ${joined} where p.after is null) r
     where t.${group} = r.group_key and t.${subject} = r.subject_key`,
    `insert into ${table} (${group}, ${subject}, named_as, role)
     select g.key, s.key, p.after, ${RANK} ${joined} where p.after is not null
     order by g.key, s.key
     on conflict on constraint ${table}_pk do update set named_as = excluded.named_as, role = excluded.role`,
  ];
}

const ROLES: readonly string[] = [
  ...writeRoles('memberships', 'users', 'group_key', 'user_key'),
  ...writeRoles('nestings', 'groups', 'outer_key', 'inner_key'),
];

/** See applyReferences. */
export const REFERENCES = [
  `update groups g set references_hash = r.references_hash from staged_regrouped r
   where g.entry_uuid = r.uuid and not r.is_new`,
  `delete from unresolved_references t using planned_unresolved p, groups g
   where p.after is null and g.entry_uuid = p.group_uuid and t.group_key = g.key and t.dn_key = p.key`,
  `insert into unresolved_references (group_key, dn_key, named_as)
   select g.key, p.key, p.after from planned_unresolved p join groups g on g.entry_uuid = p.group_uuid
   where p.after is not null
   on conflict on constraint unresolved_references_pk do update set named_as = excluded.named_as`,
];

/** The groups whose direct members or nested groups change. */
export const CHANGED_GROUPS = `
  select group_uuid as uuid from planned_memberships union select group_uuid from planned_nestings`;

const TOUCH = `
  update groups set updated_at = $1 where updated_at <> $1 and entry_uuid in (${CHANGED_GROUPS})`;
