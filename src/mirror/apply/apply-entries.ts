import { arraysOf, chunksOf } from '../../common/chunks.js';
import { type Field, isSearched, storedName } from '../../common/field.js';
import { fold } from '../../common/fold.js';
import { foldId } from '../../common/identity.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { writtenColumns, type WrittenColumn } from '../../database/fields/field-columns.js';
import { searchPairs, searchText } from '../../database/fields/filter-conditions.js';
import type { Writer } from '../../database/statements/statement.js';
import type { Hashed, HashedGroup, Plan, ReferenceChange, RoleChange } from '../plan/plan.js';
import { storedReferences, writeReferences } from './write-references.js';
import { type MappedGroup, type MappedPerson, rankOfNaming } from '../map/snapshot.js';

const BATCH = 2000;
const ROLE_BATCH = 20_000;
/** Number of characters of a folded name that are used for sorting. The size of an index entry is limited. */
const SORTED_CHARACTERS = 256;
/** Separates pairs of characters in a parameter. Folded text contains no control characters. */
const SEPARATOR = '\u001f';

/** Writes people, groups and the references between them. Effective roles are computed afterwards. */
export async function applyEntries(
  writer: Writer,
  plan: Plan,
  mapping: DirectoryMapping,
  now: Date,
  signal: AbortSignal,
): Promise<void> {
  const columns = { people: personColumns(mapping, now), groups: groupColumns(mapping, now) };
  const references = {
    users: storedReferences(mapping, 'user'),
    groups: storedReferences(mapping, 'group'),
  };
  await deleteEntries(writer, 'users', plan.deletedPeople);
  await deleteEntries(writer, 'groups', plan.deletedGroups);
  for (const batch of chunksOf([...plan.createdPeople, ...plan.updatedPeople], BATCH)) {
    signal.throwIfAborted();
    await upsert<Hashed<MappedPerson>>(writer, 'users', batch, columns.people);
    await writeReferences(writer, 'user', references.users, batch.map(valueOfEntry));
  }
  for (const batch of chunksOf([...plan.createdGroups, ...plan.updatedGroups], BATCH)) {
    signal.throwIfAborted();
    await upsert<HashedGroup>(writer, 'groups', batch, columns.groups);
    await writeReferences(writer, 'group', references.groups, batch.map(valueOfEntry));
  }
  signal.throwIfAborted();
  await applyRoles(writer, plan.memberships, {
    table: 'memberships',
    subjects: 'users',
    group: 'group_key',
    subject: 'user_key',
  });
  await applyRoles(writer, plan.nestings, {
    table: 'nestings',
    subjects: 'groups',
    group: 'outer_key',
    subject: 'inner_key',
  });
  await applyReferences(writer, plan);
  await touchGroups(writer, plan, now);
}

function valueOfEntry<Value>({ value }: Hashed<Value>): Value {
  return value;
}

/** Writes the invisible part of a plan: reference hashes and unresolved references. */
export async function applyReferences(
  writer: Writer,
  { regrouped, unresolved }: Pick<Plan, 'regrouped' | 'unresolved'>,
): Promise<void> {
  for (const batch of chunksOf(regrouped, BATCH)) {
    await writer.query(
      `update groups g set references_hash = r.hash from unnest($1::uuid[], $2::bytea[]) r (uuid, hash)
       where g.entry_uuid = r.uuid`,
      [batch.map(({ value }) => value.uuid), batch.map(({ referencesHash }) => referencesHash)],
    );
  }
  const isGone = ({ after }: ReferenceChange) => after === null;
  for (const batch of chunksOf(unresolved.filter(isGone), ROLE_BATCH)) {
    await writer.query(
      `delete from unresolved_references t using unnest($1::uuid[], $2::uuid[]) r (g_uuid, dn_key), groups g
       where g.entry_uuid = r.g_uuid and t.group_key = g.key and t.dn_key = r.dn_key`,
      arraysOf(batch, 'group', 'dnKey'),
    );
  }
  const remaining = unresolved.filter((change) => !isGone(change));
  for (const batch of chunksOf(remaining, ROLE_BATCH)) {
    await writer.query(
      `insert into unresolved_references (group_key, dn_key, named_as)
       select g.key, r.dn_key, r.named_as from unnest($1::uuid[], $2::uuid[], $3::smallint[]) r (g_uuid, dn_key, named_as)
         join groups g on g.entry_uuid = r.g_uuid
       on conflict on constraint unresolved_references_pk do update set named_as = excluded.named_as`,
      arraysOf(batch, 'group', 'dnKey', 'after'),
    );
  }
}

/** A group counts as updated when its direct members or nested groups have changed. */
async function touchGroups(writer: Writer, plan: Plan, now: Date): Promise<void> {
  const groups = new Set([...plan.memberships, ...plan.nestings].map(({ group }) => group));
  if (groups.size === 0) return;
  await writer.query(
    `update groups set updated_at = $2 where entry_uuid = any ($1::uuid[]) and updated_at <> $2`,
    [[...groups], now],
  );
}

async function deleteEntries(
  writer: Writer,
  table: string,
  gone: readonly { uuid: string }[],
): Promise<void> {
  if (gone.length === 0) return;
  await writer.query(`delete from ${table} where entry_uuid = any ($1::uuid[])`, arraysOf(gone, 'uuid'));
}

function personColumns({ users }: DirectoryMapping, now: Date): WrittenColumn<Hashed<MappedPerson>>[] {
  return [
    { name: 'is_active', type: 'boolean', valueOf: ({ value: { active } }) => active !== false },
    ...entryColumns(users.fields, now),
  ];
}

function groupColumns({ groups }: DirectoryMapping, now: Date): WrittenColumn<HashedGroup>[] {
  return [
    { name: 'references_hash', type: 'bytea', valueOf: ({ referencesHash }) => referencesHash },
    {
      name: 'members_visible_to',
      type: 'smallint',
      valueOf: ({ value: { membersVisibleTo } }) => membersVisibleTo ?? 0,
    },
    ...entryColumns(groups.fields, now),
  ];
}

/** Returns the columns of the fields and the columns that users and groups have in common. */
function entryColumns(
  fields: readonly Field[],
  now: Date,
): WrittenColumn<Hashed<MappedPerson | MappedGroup>>[] {
  const searched = fields.filter(isSearched).map(storedName);
  const textOf = (value: MappedPerson | MappedGroup) =>
    searchText(searched.flatMap((name) => [value[name] ?? []].flat().map(String)));
  const column = (
    name: string,
    type: string,
    valueOf: (value: MappedPerson | MappedGroup, contentHash: Buffer) => unknown,
  ): WrittenColumn<Hashed<MappedPerson | MappedGroup>> => ({
    name,
    type,
    valueOf: ({ value, contentHash }) => valueOf(value, contentHash),
  });
  return [
    ...writtenColumns<MappedPerson | MappedGroup>(fields).map(({ name, type, valueOf }) =>
      column(name, type, valueOf),
    ),
    column('entry_uuid', 'uuid', ({ uuid }) => uuid),
    column('dn', 'text', ({ dn }) => dn),
    column('dn_key', 'uuid', ({ dnKey }) => dnKey),
    column('source_values', 'jsonb', ({ sourceValues: values }) => values && JSON.stringify(values)),
    column('id', 'text', ({ id }) => id),
    column('id_folded', 'text', ({ id }) => foldId(id)),
    column('name', 'text', ({ name }) => name),
    column('sort_name', 'text', ({ name }) => [...fold(name).trim()].slice(0, SORTED_CHARACTERS).join('')),
    column('search_text', 'text', textOf),
    // Arrays of different lengths cannot be sent as one array parameter. The statement splits the text.
    column('search_pairs', 'text', (value) => searchPairs(textOf(value)).join(SEPARATOR)),
    column('visible_to', 'smallint', ({ visibleTo }) => visibleTo ?? 0),
    column('content_hash', 'bytea', (_value, contentHash) => contentHash),
    column('created_at', 'timestamptz', ({ createdAt }) => createdAt ?? now),
    column('updated_at', 'timestamptz', () => now),
  ];
}

/** Upserts a batch with one array for each column. This costs a tenth of a list of values for each row. */
async function upsert<Each>(
  writer: Writer,
  table: string,
  entries: readonly Each[],
  columns: readonly WrittenColumn<Each>[],
): Promise<void> {
  const names = columns.map(({ name }) => name);
  const arrays = columns.map(({ type }, index) => `$${index + 1}::${type}[]`);
  const selected = names.map((name) =>
    name === 'search_pairs' ? `string_to_array(search_pairs, '${SEPARATOR}')` : name,
  );
  // The creation time is from the directory, or else the time at which the entry was first seen, never that
  // of this run.
  const assignments = names
    .filter((name) => name !== 'entry_uuid')
    .map((name) =>
      name === 'created_at'
        ? `created_at = least(${table}.created_at, excluded.created_at)`
        : `${name} = excluded.${name}`,
    );
  await writer.query(
    `insert into ${table} (${names.join(', ')})
     select ${selected.join(', ')} from unnest(${arrays.join(', ')}) as given (${names.join(', ')})
     on conflict on constraint ${table}_entry_uuid_unique do update set ${assignments.join(', ')}`,
    columns.map(({ valueOf }) => entries.map(valueOf)),
  );
}

interface RoleTable {
  readonly table: string;
  readonly subjects: string;
  readonly group: string;
  readonly subject: string;
}

async function applyRoles(writer: Writer, changes: readonly RoleChange[], names: RoleTable): Promise<void> {
  const { table, subjects, group, subject } = names;
  const join = `join groups g on g.entry_uuid = r.g_uuid join ${subjects} s on s.entry_uuid = r.s_uuid`;
  const removed = changes.filter(({ after }) => after === null);
  for (const batch of chunksOf(removed, ROLE_BATCH)) {
    await writer.query(
      `delete from ${table} t using unnest($1::uuid[], $2::uuid[]) r (g_uuid, s_uuid) ${join}
       where t.${group} = g.key and t.${subject} = s.key`,
      arraysOf(batch, 'group', 'subject'),
    );
  }
  const remaining = changes.filter(({ after }) => after !== null);
  for (const batch of chunksOf(remaining, ROLE_BATCH)) {
    await writer.query(
      `insert into ${table} (${group}, ${subject}, named_as, role)
       select g.key, s.key, r.named_as, r.role
       from unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::smallint[]) r (g_uuid, s_uuid, named_as, role) ${join}
       on conflict on constraint ${table}_pk do update set named_as = excluded.named_as, role = excluded.role`,
      [...arraysOf(batch, 'group', 'subject', 'after'), batch.map(({ after }) => rankOfNaming(after ?? 0))],
    );
  }
}
