import type { Writer } from '../../database/statements/statement.js';
import { compareEntries, type Comparison, planChanges } from './make-plan.js';
import type { Plan } from './plan.js';
import { countSkipped, type Subjects, subjectsOf } from '../map/relate.js';
import type { Skipped, Snapshot } from '../map/snapshot.js';
import { type Identities, readStoredEntries, readStoredReferences, readSubjects } from './stored.js';

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
): Promise<{ plan: Plan; skipped: Skipped }> {
  const comparison = compareEntries(snapshot, await readStoredEntries(manager));
  const subjects = subjectsOf(snapshot);
  const references = await readReferences(manager, comparison);
  return { plan: planChanges(comparison, references, subjects), skipped: countSkipped(snapshot, subjects) };
}

/**
 * Plans a change of some entries. The plan is the same as one made from the whole directory.
 * @param snapshot the mapped entries of the change that still exist
 */
export async function planDelta(manager: Writer, snapshot: Snapshot, extent: Extent): Promise<Plan> {
  const comparison = compareEntries(snapshot, await readStoredEntries(manager, identitiesIn(extent)));
  const references = await readReferences(manager, comparison);
  return planChanges(comparison, references, await subjectsAfter(manager, snapshot, comparison, extent));
}

export function identitiesIn({ people, groups, gonePeople, goneGroups }: Extent): Identities {
  return { people: [...people.keys(), ...gonePeople], groups: [...groups.keys(), ...goneGroups] };
}

async function readReferences(manager: Writer, { groups, regrouped, touchedDns }: Comparison) {
  const touched = [...regrouped.map(({ value }) => value.uuid), ...groups.deleted.map(({ uuid }) => uuid)];
  return readStoredReferences(manager, touched, touchedDns);
}

/** Returns the person or group that each relevant DN will belong to. */
async function subjectsAfter(
  manager: Writer,
  snapshot: Snapshot,
  { groups, regrouped, touchedDns }: Comparison,
  extent: Extent,
): Promise<Subjects> {
  const named = [...groups.created, ...regrouped].flatMap(({ value }) => [...value.references.keys()]);
  const subjects = await readSubjects(manager, [...new Set([...touchedDns, ...named])]);
  for (const [dnKey, { kind, uuid }] of subjects) {
    const [entries, gone] =
      kind === 'person' ? [extent.people, extent.gonePeople] : [extent.groups, extent.goneGroups];
    if (entries.has(uuid) || gone.has(uuid)) subjects.delete(dnKey);
  }
  for (const [dnKey, subject] of subjectsOf(snapshot)) subjects.set(dnKey, subject);
  return subjects;
}
