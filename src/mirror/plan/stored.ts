import type { Writer } from '../../database/statements/statement.js';
import type { EntryKind } from '../../sources/source.js';
import type { Counts } from './deletion-guard.js';
import type { StoredEntries, StoredReference } from './make-plan.js';
import type { StoredEntry, StoredGroup } from './plan.js';
import type { NamedAs } from '../map/snapshot.js';
import { isKeyOfDn, storedKeyOf } from '../../sources/reference-key.js';
import { keysWithNaming, NAMED_BY_DN, type NamedByMasks } from '../map/named-by.js';
import type { Subject } from '../map/relate.js';

export interface Identities {
  readonly people: readonly string[];
  readonly groups: readonly string[];
}

/** Returns the values of mirrored people and groups that are necessary to detect changes. */
export async function readStoredEntries(manager: Writer, wanted?: Identities): Promise<StoredEntries> {
  return {
    people: await entriesOf<StoredEntry>(manager, 'users', '', wanted?.people),
    groups: await entriesOf<StoredGroup>(
      manager,
      'groups',
      ', references_hash as "referencesHash"',
      wanted?.groups,
    ),
  };
}

async function entriesOf<Row extends StoredEntry>(
  manager: Writer,
  table: 'users' | 'groups',
  more: string,
  wanted: readonly string[] | undefined,
): Promise<Map<string, Row>> {
  const rows: Row[] = await manager.query(
    `select entry_uuid as uuid, id, dn_key as "dnKey", content_hash as "contentHash"${more} from ${table}
     ${wanted === undefined ? '' : 'where entry_uuid = any ($1::uuid[])'}`,
    wanted === undefined ? [] : [wanted],
  );
  return new Map(rows.map((row) => [row.uuid, row]));
}

interface ReferenceRow {
  readonly group: string;
  readonly dnKey: string;
  readonly namedAs: NamedAs;
  readonly kind: Subject['kind'] | null;
  readonly uuid: string | null;
  readonly id: string | null;
}

/** Returns all references of these groups, and the references of all groups to what these keys (referenceKeyOf) name. */
export async function readStoredReferences(
  manager: Writer,
  groups: readonly string[],
  keys: readonly string[],
  masks: NamedByMasks = NAMED_BY_DN,
): Promise<StoredReference[]> {
  const ofGroups: ReferenceRow[] =
    groups.length === 0
      ? []
      : await manager.query(referencesWhere('g.entry_uuid', 'g.entry_uuid', 'g.entry_uuid'), [groups]);
  const toKeys: ReferenceRow[] =
    keys.length === 0
      ? []
      : await manager.query(referencesWhere('s.dn_key', 's.dn_key', 'r.dn_key'), [keys.map(storedKeyOf)]);
  const toOthers = await readReferencesByName(manager, keys);
  const known = new Set(groups);
  const rows = [...ofGroups, ...[...toKeys, ...toOthers].filter(({ group }) => !known.has(group))];
  return withoutRepetitions(rows).flatMap((row) => referencesOf(row, masks));
}

/** The references to users with an id, and to users and groups with an entryUUID, that are among the keys. */
async function readReferencesByName(manager: Writer, keys: readonly string[]): Promise<ReferenceRow[]> {
  const ids = valuesOf(keys, 'id:');
  const uuids = valuesOf(keys, 'uuid:');
  const read = (sql: string, values: readonly string[]): Promise<ReferenceRow[]> =>
    values.length === 0 ? Promise.resolve([]) : manager.query(sql, [values]);
  return [
    ...(await read(inMemberships('s.id_folded = any ($1::text[])'), ids)),
    ...(await read(inMemberships('s.entry_uuid = any ($1::uuid[])'), uuids)),
    ...(await read(inNestings('s.entry_uuid = any ($1::uuid[])'), uuids)),
  ];
}

function valuesOf(keys: readonly string[], prefix: string): string[] {
  return keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
}

/** An entry can be found by several keys. */
function withoutRepetitions(rows: readonly ReferenceRow[]): ReferenceRow[] {
  return [...new Map(rows.map((row) => [`${row.group} ${row.uuid ?? row.dnKey}`, row])).values()];
}

function referencesOf(row: ReferenceRow, masks: NamedByMasks): StoredReference[] {
  const { group, dnKey, namedAs, kind, uuid, id } = row;
  if (kind === null || uuid === null) return [{ group, dnKey, namedAs, subject: null }];
  const named = keysWithNaming(kind, { uuid, dnKey, id: id ?? '' }, masks, namedAs);
  return named.map((each) => ({
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

/** @param columns the column to search, for each of the three tables that store references */
function referencesWhere(...[ofMemberships, ofNestings, ofUnresolved]: [string, string, string]): string {
  return `
    ${inMemberships(`${ofMemberships} = any ($1::uuid[])`)}
    union all
    ${inNestings(`${ofNestings} = any ($1::uuid[])`)}
    union all
    ${REFERENCE}, r.dn_key, null::uuid, null, null
    from unresolved_references r join groups g on g.key = r.group_key
    where ${ofUnresolved} = any ($1::uuid[])`;
}

/** Returns the person or group that each key names, by storedKeyOf. An entry that is both counts as a person. */
export async function readSubjects(manager: Writer, keys: readonly string[]): Promise<Map<string, Subject>> {
  const found: (Subject & { key: string })[] = [];
  const find = async (column: string, type: string, values: readonly string[], kind: Subject['kind']) => {
    if (values.length === 0) return;
    const table = TABLES[kind];
    const rows: { value: string; uuid: string }[] = await manager.query(
      `select ${column} as value, entry_uuid as uuid from ${table} where ${column} = any ($1::${type}[])`,
      [values],
    );
    const prefix = PREFIXES[column] ?? '';
    for (const { value, uuid } of rows) found.push({ kind, uuid, key: storedKeyOf(`${prefix}${value}`) });
  };
  const dnKeys = keys.filter(isKeyOfDn);
  const uuids = valuesOf(keys, 'uuid:');
  // People come last, because an entry that is both counts as a person.
  await find('dn_key', 'uuid', dnKeys, 'group');
  await find('entry_uuid', 'uuid', uuids, 'group');
  await find('dn_key', 'uuid', dnKeys, 'person');
  await find('entry_uuid', 'uuid', uuids, 'person');
  await find('id_folded', 'text', valuesOf(keys, 'id:'), 'person');
  return new Map(found.map(({ key, ...subject }) => [key, subject]));
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
    `select entry_uuid as uuid from ${TABLES[kind]} where id_folded = any ($2::text[])
     union
     select entry_uuid from quarantined_entries
     where kind = $1 and id_folded = any ($2::text[]) and entry_uuid is not null`,
    [kind, ids],
  );
  return rows.map(({ uuid }) => uuid);
}

/** Returns the ids because of which these entries are quarantined. */
export async function readClaimedIds(
  manager: Writer,
  kind: EntryKind,
  uuids: readonly string[],
): Promise<string[]> {
  const rows: { id: string }[] = await manager.query(
    `select distinct id_folded as id from quarantined_entries
     where kind = $1 and entry_uuid = any ($2::uuid[]) and id_folded is not null`,
    [kind, uuids],
  );
  return rows.map(({ id }) => id);
}

const TABLES = { person: 'users', group: 'groups' } as const satisfies Record<EntryKind, string>;

/** Counts the rows that the deletion guard protects. */
export async function countStored(manager: Writer): Promise<Counts> {
  const [counts]: Counts[] = await manager.query(`
    select (select user_count from mirror_state) as people, (select group_count from mirror_state) as groups,
      (select count(*)::integer from memberships) as memberships`);
  return counts ?? { people: 0, groups: 0, memberships: 0 };
}

/** Counts what revisions that were not confirmed have deleted since an instant. */
export async function countRecentlyDeleted(manager: Writer, since: Date): Promise<Counts> {
  const [counts]: Counts[] = await manager.query(
    `select coalesce(sum(users_deleted), 0)::integer as people, coalesce(sum(groups_deleted), 0)::integer as groups,
       coalesce(sum(memberships_removed), 0)::integer as memberships
     from revisions where applied_at > $1 and not confirmed`,
    [since],
  );
  return counts ?? { people: 0, groups: 0, memberships: 0 };
}
