import type { EntityManager } from 'typeorm';
import { fold, foldId } from '../common/fold.js';
import { searchPairs, searchText } from '../database/search-condition.js';
import type { Hashed, Plan, RoleChange } from './plan.js';
import type { Person, RelatedGroup } from './snapshot.js';

/** Rows that are sent at once. */
const BATCH = 2000;
const ROLE_BATCH = 20_000;
/** Characters of a folded name that take part in the order: an index entry has a bound. */
const SORTED_CHARACTERS = 256;
/** Between pairs of characters on their way to the database; folded text has no control characters. */
const SEPARATOR = '\u001f';

/** Writes people, groups and who is named by which group; what follows from it is worked out afterwards. */
export async function applyEntries(
  manager: EntityManager,
  plan: Plan,
  now: Date,
  signal: AbortSignal,
): Promise<void> {
  await deleteEntries(manager, 'users', plan.deletedPeople);
  await deleteEntries(manager, 'groups', plan.deletedGroups);
  for (const batch of batches([...plan.createdPeople, ...plan.updatedPeople], BATCH)) {
    signal.throwIfAborted();
    await upsert(manager, 'users', batch, [...PERSON_COLUMNS, ...entryColumns(now)]);
  }
  for (const batch of batches([...plan.createdGroups, ...plan.updatedGroups], BATCH)) {
    signal.throwIfAborted();
    await upsert(manager, 'groups', batch, [...GROUP_COLUMNS, ...entryColumns(now)]);
  }
  signal.throwIfAborted();
  await applyRoles(manager, plan.memberships, {
    table: 'memberships',
    subjects: 'users',
    group: 'group_key',
    subject: 'user_key',
  });
  await applyRoles(manager, plan.nestings, {
    table: 'nestings',
    subjects: 'groups',
    group: 'outer_key',
    subject: 'inner_key',
  });
}

async function deleteEntries(
  manager: EntityManager,
  table: string,
  gone: readonly { uuid: string }[],
): Promise<void> {
  if (gone.length === 0) return;
  await manager.query(`delete from ${table} where entry_uuid = any ($1::uuid[])`, [
    gone.map(({ uuid }) => uuid),
  ]);
}

type Column<Value> = [name: string, type: string, valueOf: (entry: Hashed<Value>) => unknown];

const PERSON_COLUMNS: readonly Column<Person>[] = [
  ['given_name', 'text', ({ value }) => value.givenName],
  ['family_name', 'text', ({ value }) => value.familyName],
  ['email', 'text', ({ value }) => value.email],
  ['school_year', 'text', ({ value }) => value.schoolYear],
  ['photo', 'bytea', ({ value }) => value.photo],
  ['picture', 'bytea', ({ value }) => value.picture],
];

const GROUP_COLUMNS: readonly Column<RelatedGroup>[] = [
  ['description', 'text', ({ value }) => value.description],
  ['website', 'text', ({ value }) => value.website],
  ['email', 'text', ({ value }) => value.email],
];

/** What people and groups have in common. */
function entryColumns(now: Date): Column<Person | RelatedGroup>[] {
  return [
    ['entry_uuid', 'uuid', ({ value }) => value.uuid],
    ['dn', 'text', ({ value }) => value.dn],
    ['id', 'text', ({ value }) => value.id],
    ['id_folded', 'text', ({ value }) => foldId(value.id)],
    ['name', 'text', ({ value }) => value.name],
    ['sort_name', 'text', ({ value }) => [...fold(value.name).trim()].slice(0, SORTED_CHARACTERS).join('')],
    ['search_text', 'text', ({ value }) => searchText(value.id, value.name)],
    // Arrays of different lengths cannot be sent as one: they are taken apart on the other side.
    ['search_pairs', 'text', ({ value }) => searchPairs(searchText(value.id, value.name)).join(SEPARATOR)],
    ['content_hash', 'bytea', ({ contentHash }) => contentHash],
    ['created_at', 'timestamptz', ({ value }) => value.createdAt ?? now],
    ['updated_at', 'timestamptz', () => now],
  ];
}

/** One statement for the whole batch: an array a column, which costs a tenth of a row of values each. */
async function upsert<Value>(
  manager: EntityManager,
  table: string,
  entries: readonly Hashed<Value>[],
  columns: readonly Column<Value>[],
): Promise<void> {
  const names = columns.map(([name]) => name);
  const arrays = columns.map(([, type], index) => `$${index + 1}::${type}[]`);
  const selected = names.map((name) =>
    name === 'search_pairs' ? `string_to_array(search_pairs, '${SEPARATOR}')` : name,
  );
  // The time of creation is the directory's, or else when the entry was first seen: never this run's.
  const assignments = names
    .filter((name) => name !== 'entry_uuid')
    .map((name) =>
      name === 'created_at'
        ? `created_at = least(${table}.created_at, excluded.created_at)`
        : `${name} = excluded.${name}`,
    );
  await manager.query(
    `insert into ${table} (${names.join(', ')})
     select ${selected.join(', ')} from unnest(${arrays.join(', ')}) as given (${names.join(', ')})
     on conflict on constraint ${table}_entry_uuid_unique do update set ${assignments.join(', ')}`,
    columns.map(([, , valueOf]) => entries.map(valueOf)),
  );
}

interface RoleTable {
  readonly table: string;
  readonly subjects: string;
  readonly group: string;
  readonly subject: string;
}

async function applyRoles(
  manager: EntityManager,
  changes: readonly RoleChange[],
  names: RoleTable,
): Promise<void> {
  const { table, subjects, group, subject } = names;
  const join = `join groups g on g.entry_uuid = r.g_uuid join ${subjects} s on s.entry_uuid = r.s_uuid`;
  for (const batch of batches(
    changes.filter(({ after }) => after === null),
    ROLE_BATCH,
  )) {
    await manager.query(
      `delete from ${table} t using unnest($1::uuid[], $2::uuid[]) r (g_uuid, s_uuid) ${join}
       where t.${group} = g.key and t.${subject} = s.key`,
      [batch.map((change) => change.group), batch.map((change) => change.subject)],
    );
  }
  for (const batch of batches(
    changes.filter(({ after }) => after !== null),
    ROLE_BATCH,
  )) {
    await manager.query(
      `insert into ${table} (${group}, ${subject}, role)
       select g.key, s.key, r.role from unnest($1::uuid[], $2::uuid[], $3::smallint[]) r (g_uuid, s_uuid, role) ${join}
       on conflict on constraint ${table}_pk do update set role = excluded.role`,
      [
        batch.map((change) => change.group),
        batch.map((change) => change.subject),
        batch.map(({ after }) => after),
      ],
    );
  }
}

function* batches<Each>(all: readonly Each[], size: number): Generator<readonly Each[]> {
  for (let start = 0; start < all.length; start += size) yield all.slice(start, start + size);
}
