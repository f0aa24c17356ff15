import { fold, foldId } from '../../common/fold.js';
import { searchPairs, searchText } from '../../database/paging/search-condition.js';
import type { Writer } from '../../database/statements/writer.js';
import type { Hashed, HashedGroup, Plan, ReferenceChange, RoleChange } from '../plan/plan.js';
import { type Group, type Person, rankOfNaming } from '../map/snapshot.js';

/** Rows that are sent at once. */
const BATCH = 2000;
const ROLE_BATCH = 20_000;
/** Characters of a folded name that take part in the order: an index entry has a bound. */
const SORTED_CHARACTERS = 256;
/** Between pairs of characters on their way to the database; folded text has no control characters. */
const SEPARATOR = '\u001f';

/** Writes people, groups and who is named by which group; what follows from it is worked out afterwards. */
export async function applyEntries(
  writer: Writer,
  plan: Plan,
  now: Date,
  signal: AbortSignal,
): Promise<void> {
  await deleteEntries(writer, 'users', plan.deletedPeople);
  await deleteEntries(writer, 'groups', plan.deletedGroups);
  for (const batch of batches([...plan.createdPeople, ...plan.updatedPeople], BATCH)) {
    signal.throwIfAborted();
    await upsert<Hashed<Person>>(writer, 'users', batch, [...PERSON_COLUMNS, ...entryColumns(now)]);
  }
  for (const batch of batches([...plan.createdGroups, ...plan.updatedGroups], BATCH)) {
    signal.throwIfAborted();
    await upsert<HashedGroup>(writer, 'groups', batch, [...GROUP_COLUMNS, ...entryColumns(now)]);
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

/** What groups name, as far as nobody can see it; all that is left of a plan where nothing else has changed. */
export async function applyReferences(
  writer: Writer,
  { regrouped, unresolved }: Pick<Plan, 'regrouped' | 'unresolved'>,
): Promise<void> {
  for (const batch of batches(regrouped, BATCH)) {
    await writer.query(
      `update groups g set references_hash = r.hash from unnest($1::uuid[], $2::bytea[]) r (uuid, hash)
       where g.entry_uuid = r.uuid`,
      [batch.map(({ value }) => value.uuid), batch.map(({ referencesHash }) => referencesHash)],
    );
  }
  const isGone = ({ after }: ReferenceChange) => after === null;
  for (const batch of batches(unresolved.filter(isGone), ROLE_BATCH)) {
    await writer.query(
      `delete from unresolved_references t using unnest($1::uuid[], $2::uuid[]) r (g_uuid, dn_key), groups g
       where g.entry_uuid = r.g_uuid and t.group_key = g.key and t.dn_key = r.dn_key`,
      [batch.map(({ group }) => group), batch.map(({ dnKey }) => dnKey)],
    );
  }
  for (const batch of batches(
    unresolved.filter((change) => !isGone(change)),
    ROLE_BATCH,
  )) {
    await writer.query(
      `insert into unresolved_references (group_key, dn_key, named_as)
       select g.key, r.dn_key, r.named_as from unnest($1::uuid[], $2::uuid[], $3::smallint[]) r (g_uuid, dn_key, named_as)
         join groups g on g.entry_uuid = r.g_uuid
       on conflict on constraint unresolved_references_pk do update set named_as = excluded.named_as`,
      [batch.map(({ group }) => group), batch.map(({ dnKey }) => dnKey), batch.map(({ after }) => after)],
    );
  }
}

/** A group has changed when those whom it names have. */
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
  await writer.query(`delete from ${table} where entry_uuid = any ($1::uuid[])`, [
    gone.map(({ uuid }) => uuid),
  ]);
}

type Column<Each> = [name: string, type: string, valueOf: (entry: Each) => unknown];

const PERSON_COLUMNS: readonly Column<Hashed<Person>>[] = [
  ['given_name', 'text', ({ value }) => value.givenName],
  ['family_name', 'text', ({ value }) => value.familyName],
  ['school_year', 'text', ({ value }) => value.schoolYear],
  ['photo', 'bytea', ({ value }) => value.photo],
  ['picture', 'bytea', ({ value }) => value.picture],
];

const GROUP_COLUMNS: readonly Column<HashedGroup>[] = [
  ['description', 'text', ({ value }) => value.description],
  ['website', 'text', ({ value }) => value.website],
  ['references_hash', 'bytea', ({ referencesHash }) => referencesHash],
];

/** What people and groups have in common. */
function entryColumns(now: Date): Column<Hashed<Person | Group>>[] {
  return [
    ['entry_uuid', 'uuid', ({ value }) => value.uuid],
    ['dn', 'text', ({ value }) => value.dn],
    ['dn_key', 'uuid', ({ value }) => value.dnKey],
    [
      'source_values',
      'jsonb',
      ({ value }) => (value.sourceValues === null ? null : JSON.stringify(value.sourceValues)),
    ],
    ['email', 'text', ({ value }) => value.email],
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
async function upsert<Each>(
  writer: Writer,
  table: string,
  entries: readonly Each[],
  columns: readonly Column<Each>[],
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
  await writer.query(
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

async function applyRoles(writer: Writer, changes: readonly RoleChange[], names: RoleTable): Promise<void> {
  const { table, subjects, group, subject } = names;
  const join = `join groups g on g.entry_uuid = r.g_uuid join ${subjects} s on s.entry_uuid = r.s_uuid`;
  for (const batch of batches(
    changes.filter(({ after }) => after === null),
    ROLE_BATCH,
  )) {
    await writer.query(
      `delete from ${table} t using unnest($1::uuid[], $2::uuid[]) r (g_uuid, s_uuid) ${join}
       where t.${group} = g.key and t.${subject} = s.key`,
      [batch.map((change) => change.group), batch.map((change) => change.subject)],
    );
  }
  for (const batch of batches(
    changes.filter(({ after }) => after !== null),
    ROLE_BATCH,
  )) {
    await writer.query(
      `insert into ${table} (${group}, ${subject}, named_as, role)
       select g.key, s.key, r.named_as, r.role
       from unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::smallint[]) r (g_uuid, s_uuid, named_as, role) ${join}
       on conflict on constraint ${table}_pk do update set named_as = excluded.named_as, role = excluded.role`,
      [
        batch.map((change) => change.group),
        batch.map((change) => change.subject),
        batch.map(({ after }) => after),
        batch.map(({ after }) => rankOfNaming(after ?? 0)),
      ],
    );
  }
}

function* batches<Each>(all: readonly Each[], size: number): Generator<readonly Each[]> {
  for (let start = 0; start < all.length; start += size) yield all.slice(start, start + size);
}
