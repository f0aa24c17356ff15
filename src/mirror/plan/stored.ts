import type { Writer } from '../../database/statements/statement.js';
import type { EntryKind } from '../../sources/source.js';
import type { Counts } from './deletion-guard.js';
import type { StoredEntries, StoredReference } from './make-plan.js';
import type { StoredEntry, StoredGroup } from './plan.js';
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
  readonly namedAs: number;
  readonly kind: Subject['kind'] | null;
  readonly uuid: string | null;
}

/** Returns all references of these groups, and the references of all groups to these DNs. */
export async function readStoredReferences(
  manager: Writer,
  groups: readonly string[],
  dnKeys: readonly string[],
): Promise<StoredReference[]> {
  const ofGroups: ReferenceRow[] =
    groups.length === 0
      ? []
      : await manager.query(referencesWhere('g.entry_uuid', 'g.entry_uuid', 'g.entry_uuid'), [groups]);
  const toDns: ReferenceRow[] =
    dnKeys.length === 0
      ? []
      : await manager.query(referencesWhere('s.dn_key', 's.dn_key', 'r.dn_key'), [dnKeys]);
  const known = new Set(groups);
  return [...ofGroups, ...toDns.filter(({ group }) => !known.has(group))].map(
    ({ kind, uuid, ...reference }) => ({
      ...reference,
      subject: kind === null || uuid === null ? null : { kind, uuid },
    }),
  );
}

/** @param columns the column to search, for each of the three tables that store references */
function referencesWhere(...[inMemberships, inNestings, inUnresolved]: [string, string, string]): string {
  const select = (dnKey: string, kind: string, uuid: string) =>
    `select g.entry_uuid as "group", ${dnKey} as "dnKey", r.named_as as "namedAs", ${kind} as kind, ${uuid} as uuid`;
  return `
    ${select('s.dn_key', `'person'`, 's.entry_uuid')}
    from memberships r join users s on s.key = r.user_key join groups g on g.key = r.group_key
    where ${inMemberships} = any ($1::uuid[])
    union all
    ${select('s.dn_key', `'group'`, 's.entry_uuid')}
    from nestings r join groups s on s.key = r.inner_key join groups g on g.key = r.outer_key
    where ${inNestings} = any ($1::uuid[])
    union all
    ${select('r.dn_key', 'null', 'null::uuid')}
    from unresolved_references r join groups g on g.key = r.group_key
    where ${inUnresolved} = any ($1::uuid[])`;
}

/** Returns the person or group with each of these DNs. An entry that is both counts as a person. */
export async function readSubjects(
  manager: Writer,
  dnKeys: readonly string[],
): Promise<Map<string, Subject>> {
  if (dnKeys.length === 0) return new Map();
  const rows: (Subject & { dnKey: string })[] = await manager.query(
    `select dn_key as "dnKey", 'group' as kind, entry_uuid as uuid from groups where dn_key = any ($1::uuid[])
     union all
     select dn_key, 'person', entry_uuid from users where dn_key = any ($1::uuid[])`,
    [dnKeys],
  );
  return new Map(rows.map(({ dnKey, ...subject }) => [dnKey, subject]));
}

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
