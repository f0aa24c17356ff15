import { arraysOf, chunksOf } from '../../common/chunks.js';
import type { Values, Writer } from '../../database/statements/statement.js';
import { unnest } from '../../database/statements/unnest.js';
import { rankIn } from '../map/entry-tables.js';
import { type Plan, type ReferenceChange, type RoleChange, withoutDeleted } from '../plan/plan.js';
import { CombinedWrites } from './combined-writes.js';

const BATCH = 20_000;

export function addDeletions(writes: CombinedWrites, { deletedPeople, deletedGroups }: Plan): void {
  addDeletion(writes, 'users', deletedPeople);
  addDeletion(writes, 'groups', deletedGroups);
}

function addDeletion(writes: CombinedWrites, table: string, gone: readonly { uuid: string }[]): void {
  if (gone.length === 0) return;
  const uuids = gone.map(({ uuid }) => uuid);
  writes.add((values) => `delete from ${table} where entry_uuid = any (${values.add(uuids)}::uuid[])`);
}

export async function addRoles(writes: CombinedWrites, plan: Plan): Promise<void> {
  await addRolesOf(writes, withoutDeleted(plan, 'memberships'), MEMBERSHIPS);
  await addRolesOf(writes, withoutDeleted(plan, 'nestings'), NESTINGS);
}

interface RoleTable {
  readonly table: string;
  readonly subjects: string;
  readonly group: string;
  readonly subject: string;
}

export const MEMBERSHIPS: RoleTable = {
  table: 'memberships',
  subjects: 'users',
  group: 'group_key',
  subject: 'user_key',
};
export const NESTINGS: RoleTable = {
  table: 'nestings',
  subjects: 'groups',
  group: 'outer_key',
  subject: 'inner_key',
};

async function addRolesOf(
  writes: CombinedWrites,
  changes: readonly RoleChange[],
  table: RoleTable,
): Promise<void> {
  const removed = changes.filter(({ after }) => after === null);
  await addBatches(writes, removed, (batch, values) => {
    const given = unnest(values, ['uuid', 'uuid'], arraysOf(batch, 'group', 'subject'));
    return deleteRoles(table, `${given} r (group_uuid, uuid)`);
  });
  const remaining = changes.filter(({ after }) => after !== null);
  await addBatches(writes, remaining, (batch, values) => {
    const given = unnest(values, ['uuid', 'uuid', 'smallint'], arraysOf(batch, 'group', 'subject', 'after'));
    return upsertRoles(table, `${given} r (group_uuid, uuid, after)`);
  });
}

/** @param given rows `r` of group_uuid and uuid */
export function deleteRoles({ table, subjects, group, subject }: RoleTable, given: string): string {
  return `delete from ${table} t using ${given} ${joinKeys(subjects)}
     where t.${group} = g.key and t.${subject} = s.key`;
}

/** @param given rows `r` of group_uuid, uuid and after: NamedAs */
export function upsertRoles({ table, subjects, group, subject }: RoleTable, given: string): string {
  return `insert into ${table} (${group}, ${subject}, named_as, role)
     select g.key, s.key, r.after, ${rankIn('r.after')} from ${given} ${joinKeys(subjects)}
     order by g.key, s.key
     on conflict on constraint ${table}_pk do update set named_as = excluded.named_as, role = excluded.role`;
}

function joinKeys(subjects: string): string {
  return `join groups g on g.entry_uuid = r.group_uuid join ${subjects} s on s.entry_uuid = r.uuid`;
}

/** Writes the invisible part of a plan: reference hashes and unresolved references. */
export async function applyReferences(writer: Writer, plan: Plan): Promise<void> {
  const writes = new CombinedWrites(writer);
  await addReferences(writes, plan, new Map(), null);
  await writes.run();
}

/** @param touched see touchedGroups, which are updated now */
export async function addReferences(
  writes: CombinedWrites,
  { regrouped, unresolved }: Pick<Plan, 'regrouped' | 'unresolved'>,
  touched: ReadonlyMap<string, boolean>,
  now: Date | null,
): Promise<void> {
  const hashes = new Map(regrouped.map(({ value, referencesHash }) => [value.uuid, referencesHash]));
  const groups = [...new Set([...hashes.keys(), ...touched.keys()])];
  await addBatches(writes, groups, (batch, values) => {
    const given = unnest(
      values,
      ['uuid', 'bytea', 'boolean'],
      [batch, batch.map((uuid) => hashes.get(uuid) ?? null), batch.map((uuid) => touched.get(uuid) ?? null)],
    );
    return updateGroups(given, `${values.add(now)}::timestamptz`);
  });
  const isGone = ({ after }: ReferenceChange) => after === null;
  await addBatches(writes, unresolved.filter(isGone), (batch, values) => {
    const given = unnest(values, ['uuid', 'uuid'], arraysOf(batch, 'group', 'dnKey'));
    return deleteUnresolved(`${given} r (group_uuid, key)`);
  });
  const remaining = unresolved.filter((change) => !isGone(change));
  await addBatches(writes, remaining, (batch, values) => {
    const given = unnest(values, ['uuid', 'uuid', 'smallint'], arraysOf(batch, 'group', 'dnKey', 'after'));
    return upsertUnresolved(`${given} r (group_uuid, key, after)`);
  });
}

/** @param given rows `r` of group_uuid and key */
export function deleteUnresolved(given: string): string {
  return `delete from unresolved_references t using ${given}, groups g
     where g.entry_uuid = r.group_uuid and t.group_key = g.key and t.dn_key = r.key`;
}

/** @param given rows `r` of group_uuid, key and after: NamedAs */
export function upsertUnresolved(given: string): string {
  return `insert into unresolved_references (group_key, dn_key, named_as)
     select g.key, r.key, r.after from ${given} join groups g on g.entry_uuid = r.group_uuid
     on conflict on constraint unresolved_references_pk do update set named_as = excluded.named_as`;
}

/** A group that has just been written has the time `now` already. */
function updateGroups(given: string, now: string): string {
  const isTouched = `r.is_shown is not null and g.updated_at <> ${now}`;
  return `update groups g set references_hash = coalesce(r.hash, g.references_hash),
       updated_at = case when ${isTouched} then ${now} else g.updated_at end,
       shown_updated_at = case when ${isTouched}
         then case when not r.is_shown then coalesce(g.shown_updated_at, g.updated_at) end
         else g.shown_updated_at end
     from ${given} r (uuid, hash, is_shown)
     where g.entry_uuid = r.uuid and (r.hash is not null or ${isTouched})`;
}

/** Runs full batches at once: one statement for all of a large plan would be too long. */
async function addBatches<Each>(
  writes: CombinedWrites,
  rows: readonly Each[],
  statementOf: (batch: readonly Each[], values: Values) => string,
): Promise<void> {
  for (const batch of chunksOf(rows, BATCH)) {
    writes.add((values) => statementOf(batch, values));
    if (batch.length === BATCH) await writes.run();
  }
}
