import type { Writer } from '../../database/statements/statement.js';
import { compareEntries, type Comparison, planChanges } from './make-plan.js';
import type { Plan } from './plan.js';
import { findDifferences, type LargeGroups, withLargeGroups } from './large-groups.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { storedKeyOf } from '../../sources/reference-key.js';
import { namedByMasksOf, type NamedByMasks } from '../map/named-by.js';
import { addNamingUser, groupsNamedBy, namingUsersOf, withNamingUsers } from '../map/named-groups.js';
import { hashGroupInSteps } from '../map/content-hash.js';
import { chooseSubjects, countSkipped, namedIn, type Subject, subjectsOf } from '../map/relate.js';
import type { Skipped, Snapshot } from '../map/snapshot.js';
import { type Identities, readStoredEntries, readStoredReferences, readSubjects } from './stored.js';
import { readNamingUsers } from './stored-naming.js';

/** The scope of a change, by entryUUID: entries in their current state, and deleted ones. A Delta is one. */
interface Extent {
  readonly people: ReadonlyMap<string, unknown>;
  readonly groups: ReadonlyMap<string, unknown>;
  readonly gonePeople: ReadonlySet<string>;
  readonly goneGroups: ReadonlySet<string>;
}

export async function planWhole(
  manager: Writer,
  snapshot: Snapshot,
  mapping: DirectoryMapping,
): Promise<{ plan: Plan; skipped: Skipped }> {
  const masks = namedByMasksOf(mapping.groups);
  const isNaming = mapping.users.memberOf !== undefined;
  const whole = isNaming ? withNamingUsers(snapshot, namingUsersOf(snapshot.people.values())) : snapshot;
  const comparison = compareEntries(whole, await readStoredEntries(manager), mapping);
  const subjects = subjectsOf(whole, masks);
  const references = await readReferences(manager, comparison, masks);
  return { plan: planChanges(comparison, references, subjects), skipped: countSkipped(whole, subjects) };
}

/**
 * Plans a change of some entries. The plan is the same as one made from the whole directory.
 * @param snapshot the mapped entries of the change that still exist
 */
export async function planDelta(
  manager: Writer,
  snapshot: Snapshot,
  extent: Extent,
  mapping: DirectoryMapping,
): Promise<Plan> {
  const masks = namedByMasksOf(mapping.groups);
  const whole =
    mapping.users.memberOf === undefined ? snapshot : await withUsersAfter(manager, snapshot, extent);
  for (const group of whole.groups.values()) await hashGroupInSteps(group, mapping.groups.fields);
  const compared = compareEntries(whole, await readStoredEntries(manager, identitiesIn(extent)), mapping);
  const large = await findDifferences(manager, compared.regrouped, masks);
  const ofOthers = await readReferences(manager, compared, masks, large);
  const { comparison, references } =
    large.size === 0
      ? { comparison: compared, references: ofOthers }
      : await withLargeGroups(manager, compared, ofOthers, large, masks);
  const subjects = await subjectsAfter(manager, snapshot, comparison, extent, masks);
  // A stored reference to an untouched key names the same entry as before.
  const touched = new Set(comparison.touchedKeys.map(storedKeyOf));
  for (const { dnKey, subject } of references)
    if (subject !== null && !touched.has(dnKey)) subjects.set(dnKey, subject);
  return planChanges(comparison, references, subjects);
}

/** Adds the users who will name the groups of a change: those of the change, and all others that are mirrored. */
async function withUsersAfter(manager: Writer, snapshot: Snapshot, extent: Extent): Promise<Snapshot> {
  const naming = await readNamingUsers(manager, snapshot.groups.values(), identitiesIn(extent).people);
  for (const person of snapshot.people.values())
    for (const group of groupsNamedBy(person)) addNamingUser(naming, group, person.dnKey);
  return withNamingUsers(snapshot, naming);
}

export function identitiesIn({ people, groups, gonePeople, goneGroups }: Extent): Identities {
  return { people: [...people.keys(), ...gonePeople], groups: [...groups.keys(), ...goneGroups] };
}

async function readReferences(
  manager: Writer,
  { groups, regrouped, touchedKeys }: Comparison,
  masks: NamedByMasks,
  large: LargeGroups = new Map(),
) {
  const wanted = [...regrouped.map(({ value }) => value.uuid), ...groups.deleted.map(({ uuid }) => uuid)];
  const touched = wanted.filter((uuid) => !large.has(uuid));
  return readStoredReferences(manager, touched, touchedKeys, masks);
}

/** Returns the person or group that each relevant key will belong to. */
async function subjectsAfter(
  manager: Writer,
  snapshot: Snapshot,
  { groups, regrouped, touchedKeys, narrowed }: Comparison,
  extent: Extent,
  masks: NamedByMasks,
): Promise<Map<string, Subject>> {
  // What large groups name and can differ is among the touched keys.
  const small = regrouped.filter(({ value }) => narrowed?.has(value.uuid) !== true);
  const named = [...groups.created, ...small].flatMap(({ value }) => [...value.references.keys()]);
  const stored = await readSubjects(manager, [...new Set([...touchedKeys, ...named])]);
  const others = stored.filter(([, { kind, uuid }]) => {
    const [entries, gone] =
      kind === 'person' ? [extent.people, extent.gonePeople] : [extent.groups, extent.goneGroups];
    return !entries.has(uuid) && !gone.has(uuid);
  });
  return chooseSubjects([...others, ...namedIn(snapshot, masks)]);
}
