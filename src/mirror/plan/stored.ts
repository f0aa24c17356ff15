import { arraysOf } from '../../common/chunks.js';
import { Values, type Writer } from '../../database/statements/statement.js';
import type { EntryKind } from '../../sources/source.js';
import type { StoredEntries, StoredReference } from './make-plan.js';
import type { StoredEntry, StoredGroup } from './plan.js';
import { ENTRY_TABLES } from '../map/entry-tables.js';
import type { NamedAs } from '../map/snapshot.js';
import { isKeyOfDn, storedKeyOf } from '../../sources/reference-key.js';
import { keysWithNaming, NAMED_BY_DN, type NamedByMasks } from '../map/named-by.js';
import type { Named, Subject } from '../map/relate.js';

export interface Identities {
  readonly people: readonly string[];
  readonly groups: readonly string[];
}

/** Returns the values of mirrored people and groups that are necessary to detect changes, by one statement at most. */
export async function readStoredEntries(manager: Writer, wanted?: Identities): Promise<StoredEntries> {
  const people = new Map<string, StoredEntry>();
  const groups = new Map<string, StoredGroup>();
  const values = new Values();
  const selects = [
    ...selectEntries('person', 'null::bytea', wanted?.people, values),
    ...selectEntries('group', 'e.references_hash', wanted?.groups, values),
  ];
  if (selects.length === 0) return { people, groups };
  const rows: (StoredGroup & { isPerson: boolean })[] = await manager.query(selects.join(' union all '), [
    ...values.all,
  ]);
  for (const { isPerson, ...row } of rows) (isPerson ? people : groups).set(row.uuid, row);
  return { people, groups };
}

function selectEntries(
  kind: EntryKind,
  referencesHash: string,
  wanted: readonly string[] | undefined,
  values: Values,
): string[] {
  if (wanted?.length === 0) return [];
  const condition = wanted === undefined ? '' : ` where e.entry_uuid = any (${values.add(wanted)}::uuid[])`;
  return [
    `select ${String(kind === 'person')} as "isPerson", e.entry_uuid as uuid, e.id, e.dn_key as "dnKey",
       e.content_hash as "contentHash", ${referencesHash} as "referencesHash"
     from ${ENTRY_TABLES[kind]} e${condition}`,
  ];
}

interface ReferenceRow {
  readonly group: string;
  readonly dnKey: string;
  readonly namedAs: NamedAs;
  readonly kind: Subject['kind'] | null;
  readonly uuid: string | null;
  readonly id: string | null;
}

/**
 * Returns all references of these groups, and the references of all groups to what these keys (referenceKeyOf) name, by
 * one statement at most.
 * @param within limits the latter to these groups
 */
export async function readStoredReferences(
  manager: Writer,
  groups: readonly string[],
  keys: readonly string[],
  masks: NamedByMasks = NAMED_BY_DN,
  within: readonly string[] | null = null,
): Promise<StoredReference[]> {
  const values = new Values();
  const toKeys = selectReferencesTo(keys, values);
  const limited =
    within === null || toKeys.length === 0
      ? toKeys
      : [
          `select * from (${toKeys.join(' union all ')}) r where r."group" = any (${values.add(within)}::uuid[])`,
        ];
  const selects = [
    ...(groups.length === 0
      ? []
      : [referencesWhere('g.entry_uuid', 'g.entry_uuid', 'g.entry_uuid', values.add(groups))]),
    ...limited,
  ];
  if (selects.length === 0) return [];
  const rows: ReferenceRow[] = await manager.query(selects.join(' union all '), [...values.all]);
  return withoutRepetitions(rows).flatMap((row) => referencesOf(row, masks));
}

/** The references to keys, also to users with an id, and to users and groups with an entryUUID, that are among them. */
function selectReferencesTo(keys: readonly string[], values: Values): string[] {
  if (keys.length === 0) return [];
  const ids = valuesOf(keys, 'id:');
  const uuids = valuesOf(keys, 'uuid:');
  const selects = [referencesWhere('s.dn_key', 's.dn_key', 'r.dn_key', values.add(keys.map(storedKeyOf)))];
  if (ids.length > 0) selects.push(inMemberships(`s.id_folded = any (${values.add(ids)}::text[])`));
  if (uuids.length === 0) return selects;
  const condition = `s.entry_uuid = any (${values.add(uuids)}::uuid[])`;
  return [...selects, inMemberships(condition), inNestings(condition)];
}

function valuesOf(keys: readonly string[], prefix: string): string[] {
  return keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
}

/** An entry can be found by several keys. */
function withoutRepetitions(rows: readonly ReferenceRow[]): ReferenceRow[] {
  return [...new Map(rows.map((row) => [`${row.group} ${row.kind} ${row.uuid ?? row.dnKey}`, row])).values()];
}

function referencesOf(row: ReferenceRow, masks: NamedByMasks): StoredReference[] {
  const { group, dnKey, namedAs, kind, uuid, id } = row;
  if (kind === null || uuid === null) return [{ group, dnKey, namedAs, subject: null }];
  const named = keysWithNaming(kind, { uuid, dnKey, id: id ?? '' }, masks, namedAs);
  // A model with other names can have none for what the former one has stored. It still has to be found, so that it is removed.
  const rest = named.reduce((bits, each) => bits & ~each.namedAs, namedAs);
  const all = rest === 0 ? named : [...named, { key: dnKey, namedAs: rest }];
  return all.map((each) => ({
    group,
    dnKey: storedKeyOf(each.key),
    namedAs: each.namedAs,
    subject: { kind, uuid },
  }));
}

const REFERENCE = 'select g.entry_uuid as "group", r.named_as as "namedAs"';
const SUBJECT = 's.dn_key as "dnKey", s.entry_uuid as uuid, s.id';

function inMemberships(condition: string): string {
  return `${REFERENCE}, ${SUBJECT}, 'person' as kind
    from memberships r join users s on s.key = r.user_key join groups g on g.key = r.group_key
    where ${condition}`;
}

function inNestings(condition: string): string {
  return `${REFERENCE}, ${SUBJECT}, 'group' as kind
    from nestings r join groups s on s.key = r.inner_key join groups g on g.key = r.outer_key
    where ${condition}`;
}

/**
 * @param ofMemberships the column to search, for each of the three tables that store references
 * @param searched the placeholder of the searched UUIDs
 */
function referencesWhere(
  ofMemberships: string,
  ofNestings: string,
  ofUnresolved: string,
  searched: string,
): string {
  return `
    ${inMemberships(`${ofMemberships} = any (${searched}::uuid[])`)}
    union all
    ${inNestings(`${ofNestings} = any (${searched}::uuid[])`)}
    union all
    ${REFERENCE}, r.dn_key, null::uuid, null, null
    from unresolved_references r join groups g on g.key = r.group_key
    where ${ofUnresolved} = any (${searched}::uuid[])`;
}

/** Returns the people and groups that the keys name, each with its key, by one statement at most. */
export async function readSubjects(manager: Writer, keys: readonly string[]): Promise<Named[]> {
  const values = new Values();
  const selects: string[] = [];
  const find = (column: string, type: string, wanted: readonly string[], kind: Subject['kind']) => {
    if (wanted.length === 0) return;
    selects.push(`select ${selects.length} as place, '${kind}' as kind, '${PREFIXES[column] ?? ''}' || e.${column}::text as key,
        e.entry_uuid as uuid
      from ${ENTRY_TABLES[kind]} e where e.${column} = any (${values.add(wanted)}::${type}[])`);
  };
  const dnKeys = keys.filter(isKeyOfDn);
  const uuids = valuesOf(keys, 'uuid:');
  find('dn_key', 'uuid', dnKeys, 'group');
  find('entry_uuid', 'uuid', uuids, 'group');
  find('dn_key', 'uuid', dnKeys, 'person');
  find('entry_uuid', 'uuid', uuids, 'person');
  find('id_folded', 'text', valuesOf(keys, 'id:'), 'person');
  if (selects.length === 0) return [];
  const rows: (Subject & { key: string })[] = await manager.query(
    `${selects.join(' union all ')} order by place`,
    [...values.all],
  );
  return rows.map(({ key, kind, uuid }) => [storedKeyOf(key), { kind, uuid }]);
}

/** What precedes the value of a column in a key (referenceKeyOf). */
const PREFIXES: Readonly<Record<string, string>> = { entry_uuid: 'uuid:', id_folded: 'id:' };

/** Returns the entryUUIDs of entries that have one of these folded ids, or are quarantined because of one. */
export async function readIdHolders(
  manager: Writer,
  kind: EntryKind,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows: { uuid: string }[] = await manager.query(
    `select entry_uuid as uuid from ${ENTRY_TABLES[kind]} where id_folded = any ($2::text[])
     union
     select entry_uuid from quarantined_entries
     where kind = $1 and id_folded = any ($2::text[]) and entry_uuid is not null`,
    [kind, ids],
  );
  return rows.map(({ uuid }) => uuid);
}

/**
 * Returns the entries that have one of these folded ids, or are quarantined because of one.
 * @param ids the ids, and those because of which the entries `covered` are quarantined
 */
export async function readWithIds(
  manager: Writer,
  ids: readonly { readonly kind: EntryKind; readonly id: string }[],
  covered: readonly Subject[],
): Promise<Subject[]> {
  return manager.query(WITH_IDS, [...arraysOf(ids, 'kind', 'id'), ...arraysOf(covered, 'kind', 'uuid')]);
}

const WITH_IDS = `
  with claimed as (
    select given.kind, given.id from unnest($1::text[], $2::text[]) as given (kind, id)
    union
    select q.kind, q.id_folded
    from unnest($3::text[], $4::uuid[]) as covered (kind, uuid)
      join quarantined_entries q on q.kind = covered.kind and q.entry_uuid = covered.uuid
    where q.id_folded is not null
  )
  select 'person' as kind, u.entry_uuid as uuid from claimed c join users u on u.id_folded = c.id where c.kind = 'person'
  union
  select 'group', g.entry_uuid from claimed c join groups g on g.id_folded = c.id where c.kind = 'group'
  union
  select q.kind, q.entry_uuid from claimed c join quarantined_entries q on q.kind = c.kind and q.id_folded = c.id
  where q.entry_uuid is not null`;
