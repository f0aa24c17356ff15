import type { NamedBy } from '../../config/model/mapping.js';
import type { Writer } from '../../database/statements/statement.js';
import { storedKeyOf } from '../../sources/reference-key.js';
import { storedKeyIn } from '../map/entry-tables.js';
import { EVERY_NAME, NAMED_BY_DN, type NamedByMasks } from '../map/named-by.js';
import type { MappedGroup, NamedAs } from '../map/snapshot.js';
import type { Comparison, StoredReference } from './make-plan.js';
import type { HashedGroup } from './plan.js';
import { readStoredReferences } from './stored.js';

/**
 * Number of references above which the database compares those of a group with its stored ones. Reading, and comparing,
 * a row for each member would take a second for 100,000 of them, and block the process.
 */
const LARGE = 2000;

/** The references of a large group that differ from the stored ones. */
interface Differences {
  readonly group: MappedGroup;
  /** By storedKeyOf. */
  readonly stored: ReadonlySet<string>;
  /** Keys (referenceKeyOf) of the group, and those of the DNs of entries that it no longer names. */
  readonly keys: readonly string[];
}

export type LargeGroups = ReadonlyMap<string, Differences>;

/** Returns what differs in large groups whose references changed, by entryUUID. Without such groups there is no statement. */
export async function findDifferences(
  manager: Writer,
  regrouped: readonly HashedGroup[],
  masks: NamedByMasks,
): Promise<LargeGroups> {
  const found = new Map<string, Differences>();
  for (const { value: group } of regrouped)
    if (group.references.size > LARGE) found.set(group.uuid, await compareReferences(manager, group, masks));
  return found;
}

async function compareReferences(
  manager: Writer,
  group: MappedGroup,
  masks: NamedByMasks,
): Promise<Differences> {
  const keys = [...group.references.keys()];
  // With the number, and not a subquery for it, PostgreSQL knows how many members the group has.
  const [row]: { key: number }[] = await manager.query('select key from groups where entry_uuid = $1', [
    group.uuid,
  ]);
  const rows: { key: string; place: number | null; dnKey: string | null }[] = await manager.query(
    differencesOf(masks),
    // The driver takes much longer to encode arrays.
    [row?.key, keys.map(storedKeyOf).join(','), [...group.references.values()].join(',')],
  );
  return {
    group,
    stored: new Set(rows.map(({ key }) => key)),
    keys: rows.map(({ place, dnKey }) => (place === null ? null : keys[place - 1]) ?? dnKey ?? ''),
  };
}

/**
 * Limits large groups to the references that can change a role: those that differ, and those to the same entries.
 * @param references what is known of the other groups, and of all to touched keys
 * @returns the same as for planChanges
 */
export async function withLargeGroups(
  manager: Writer,
  comparison: Comparison,
  references: readonly StoredReference[],
  large: LargeGroups,
  masks: NamedByMasks,
): Promise<{ comparison: Comparison; references: readonly StoredReference[] }> {
  const touchedKeys = [...comparison.touchedKeys, ...[...large.values()].flatMap(({ keys }) => keys)];
  const differing = await readStoredReferences(manager, [], touchedKeys, masks, [...large.keys()]);
  const narrowed = new Map(
    [...large].map(([uuid, each]) => [uuid, referencesAfter(each, differing, touchedKeys)]),
  );
  const others = references.filter(({ group }) => !large.has(group));
  return { comparison: { ...comparison, touchedKeys, narrowed }, references: [...others, ...differing] };
}

function referencesAfter(
  { group: { uuid, references }, stored }: Differences,
  before: readonly StoredReference[],
  touchedKeys: readonly string[],
): Map<string, NamedAs> {
  const after = new Map<string, NamedAs>();
  for (const { group, dnKey, namedAs } of before)
    if (group === uuid && !stored.has(dnKey)) after.set(dnKey, namedAs);
  for (const key of touchedKeys) {
    const namedAs = references.get(key);
    if (namedAs !== undefined) after.set(storedKeyOf(key), namedAs);
  }
  return after;
}

/** The references of the group with the key $1 whose keys ($2) or attributes ($3), as lists, differ from the stored ones. */
function differencesOf(masks: NamedByMasks): string {
  const named = EVERY_NAME.filter((by) => masks[by] > 0);
  const stored = named.flatMap((by) => [
    storedReferences('memberships r join users s on s.key = r.user_key', 'r.group_key', by, masks),
    // Values with ids name only users.
    ...(by === 'id'
      ? []
      : [storedReferences('nestings r join groups s on s.key = r.inner_key', 'r.outer_key', by, masks)]),
  ]);
  return `
    with given (key, named_as, place) as (
      select * from unnest(string_to_array($2, ',')::uuid[], string_to_array($3, ',')::smallint[]) with ordinality
    ),
    stored (key, named_as, dn_key) as (
      ${stored.join('\n      union all\n      ')}
      union all
      select r.dn_key, r.named_as, r.dn_key from unresolved_references r where r.group_key = $1::integer
    )
    select key, given.place::integer as place, stored.dn_key as "dnKey"
    from given full join stored using (key) where given.named_as is distinct from stored.named_as`;
}

function storedReferences(tables: string, group: string, by: NamedBy, masks: NamedByMasks): string {
  const namedAs = `(r.named_as & ${masks[by]})::smallint`;
  return `select ${storedKeyIn('s', by)}, ${namedAs}, s.dn_key from ${tables}
      where ${group} = $1::integer${masks[by] === NAMED_BY_DN.dn ? '' : ` and r.named_as & ${masks[by]} > 0`}`;
}
