import { chunksOf } from '../../common/chunks.js';
import { type Field, isSearched, storedName } from '../../common/field.js';
import { fold } from '../../common/fold.js';
import { foldId } from '../../common/identity.js';
import { type DirectoryMapping, hasRules } from '../../config/model/mapping.js';
import { writtenColumns, type WrittenColumn } from '../../database/fields/field-columns.js';
import { lettersOf, searchPairs, searchText } from '../../database/fields/search-text.js';
import type { Writer } from '../../database/statements/statement.js';
import { isRespelled } from '../map/content-hash.js';
import type { MappedGroup, MappedPerson } from '../map/snapshot.js';
import type { Hashed, HashedGroup, Plan } from '../plan/plan.js';
import { addDeletions, addReferences, addRoles } from './apply-references.js';
import { type CarriedColumns, carryingStatements, withCarried } from './carrying-statements.js';
import { CombinedWrites } from './combined-writes.js';
import { readHidden, touchedGroups } from './touch-groups.js';
import { storedReferences, writeReferences } from './write-references.js';

const BATCH = 2000;
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
  const before = await readHidden(writer, mapping);
  const writes = new CombinedWrites(writer);
  addDeletions(writes, plan);
  // Entries can take the ids of those that are deleted.
  if (countEntries(plan) > 0) await writes.run();
  const carried = carryingStatements(mapping);
  const people: Target<MappedPerson, Hashed<MappedPerson>> = {
    table: 'users',
    columns: personColumns(mapping, now),
    carried: carried.people,
    writeReferences: (entries) => writeReferences(writer, 'user', storedReferences(mapping, 'user'), entries),
  };
  const groups: Target<MappedGroup, HashedGroup> = {
    table: 'groups',
    columns: groupColumns(mapping, now),
    carried: carried.groups,
    writeReferences: (entries) =>
      writeReferences(writer, 'group', storedReferences(mapping, 'group'), entries),
  };
  await upsertAll(writer, people, { created: plan.createdPeople, updated: plan.updatedPeople }, signal);
  await upsertAll(writer, groups, { created: plan.createdGroups, updated: plan.updatedGroups }, signal);
  signal.throwIfAborted();
  if (hasRules(mapping)) await writes.run();
  const touched = touchedGroups(plan, { before, after: await readHidden(writer, mapping) });
  await addRoles(writes, plan);
  await addReferences(writes, plan, touched, now);
  await writes.run();
}

interface Target<Value, Each extends Hashed<Value>> {
  readonly table: 'users' | 'groups';
  readonly columns: readonly WrittenColumn<Each>[];
  readonly carried: CarriedColumns;
  readonly writeReferences: (entries: readonly Value[]) => Promise<void>;
}

async function upsertAll<Value, Each extends Hashed<Value>>(
  writer: Writer,
  { table, columns, carried, writeReferences: write }: Target<Value, Each>,
  entries: Readonly<Record<'created' | 'updated', readonly Each[]>>,
  signal: AbortSignal,
): Promise<void> {
  for (const state of ['created', 'updated'] as const) {
    for (const batch of chunksOf(entries[state], BATCH)) {
      signal.throwIfAborted();
      const statement = upsert(table, columns);
      // A new entry has no memberships yet.
      const text = state === 'created' ? statement : withCarried(carried, statement);
      await writer.query(
        text,
        columns.map(({ valueOf }) => batch.map(valueOf)),
      );
      await write(batch.map(({ value }) => value));
    }
  }
}

function countEntries({ createdPeople, updatedPeople, createdGroups, updatedGroups }: Plan): number {
  return createdPeople.length + updatedPeople.length + createdGroups.length + updatedGroups.length;
}

/** @param now the time of entries whose time the directory does not have; null: the statement that reads the values adds it */
export function personColumns(
  { users }: DirectoryMapping,
  now: Date | null,
): WrittenColumn<Hashed<MappedPerson>>[] {
  return [
    { name: 'is_active', type: 'boolean', valueOf: ({ value: { active } }) => active !== false },
    {
      name: 'family_sort_name',
      type: 'text',
      valueOf: ({ value: { familyName } }) => (typeof familyName === 'string' ? sortKey(familyName) : ''),
    },
    ...entryColumns(users.fields, now),
  ];
}

export function groupColumns({ groups }: DirectoryMapping, now: Date | null): WrittenColumn<HashedGroup>[] {
  return [
    { name: 'references_hash', type: 'bytea', valueOf: ({ referencesHash }) => referencesHash },
    {
      name: 'members_visible_to',
      type: 'smallint',
      valueOf: ({ value: { membersVisibleTo } }) => membersVisibleTo ?? 0,
    },
    { name: 'shown_updated_at', type: 'timestamptz', valueOf: () => null },
    ...entryColumns(groups.fields, now),
  ];
}

/** Returns the columns of the fields and the columns that users and groups have in common. */
function entryColumns(
  fields: readonly Field[],
  now: Date | null,
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
    column('sort_name', 'text', ({ name }) => sortKey(name)),
    column('name_letters', 'text', ({ name }) => lettersOf(fold(name))),
    column('search_text', 'text', textOf),
    // Arrays of different lengths cannot be sent as one array parameter. The statement splits the text.
    column('search_pairs', 'text', (value) => searchPairs(textOf(value)).join(SEPARATOR)),
    column('visible_to', 'smallint', ({ visibleTo }) => visibleTo ?? 0),
    column('content_hash', 'bytea', (_value, contentHash) => contentHash),
    column('created_at', 'timestamptz', ({ createdAt }) => createdAt ?? now),
    column('updated_at', 'timestamptz', () => now),
  ];
}

function sortKey(text: string): string {
  return [...fold(text).trim()].slice(0, SORTED_CHARACTERS).join('');
}

/** Upserts a batch with one array for each column. This costs a tenth of a list of values for each row. */
function upsert(table: string, columns: readonly Pick<WrittenColumn<never>, 'name' | 'type'>[]): string {
  const arrays = columns.map(({ type }, index) => `$${index + 1}::${type}[]`);
  return upsertStatement(table, columns, {
    from: `unnest(${arrays.join(', ')}) as given (${columns.map(({ name }) => name).join(', ')})`,
  });
}

/** @param rows where the values are; `now`, if they have no times: SQL for the time of this run */
export function upsertStatement(
  table: string,
  columns: readonly Pick<WrittenColumn<never>, 'name'>[],
  { from, now }: { readonly from: string; readonly now?: string },
): string {
  const names = columns.map(({ name }) => name);
  const selected = names.map((name) => {
    if (name === 'search_pairs') return `string_to_array(search_pairs, '${SEPARATOR}')`;
    return now !== undefined && TIMES.includes(name) ? `coalesce(${name}, ${now})` : name;
  });
  // The creation time is from the directory, or else the time at which the entry was first seen, never that
  // of this run.
  const assignments = names
    .filter((name) => name !== 'entry_uuid')
    .map((name) => {
      if (name === 'created_at') return `created_at = least(${table}.created_at, excluded.created_at)`;
      if (!name.endsWith('updated_at')) return `${name} = excluded.${name}`;
      const isKept = isRespelled(`${table}.content_hash`, 'excluded.content_hash');
      return `${name} = case when ${isKept} then ${table}.${name} else excluded.${name} end`;
    });
  return `insert into ${table} (${names.join(', ')})
     select ${selected.join(', ')} from ${from}
     on conflict on constraint ${table}_entry_uuid_unique do update set ${assignments.join(', ')}`;
}

const TIMES = ['created_at', 'updated_at'];
