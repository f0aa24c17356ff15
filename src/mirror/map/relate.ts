import { foldId } from '../../common/fold.js';
import type { EntryKind } from '../../sources/source.js';
import type { MappedGroup, MappedPerson, Quarantined, Skipped, Snapshot } from './snapshot.js';

/** The person or group that a DN refers to. */
export interface Subject {
  readonly kind: EntryKind;
  readonly uuid: string;
}

/** The person or group for each DN, by keyOfDn. */
export type Subjects = ReadonlyMap<string, Subject>;

/**
 * Combines people and groups, and quarantines entries that conflict with each other (pure).
 * @param quarantined entries and attributes that were quarantined before
 */
export function gather(
  people: readonly MappedPerson[],
  groups: readonly MappedGroup[],
  quarantined: readonly Quarantined[],
): Snapshot {
  const aside = [...quarantined];
  return {
    people: withoutDuplicates('person', people, aside),
    groups: withoutDuplicates('group', groups, aside),
    quarantined: aside,
  };
}

/**
 * If several entries share an id or an entryUUID, none is known to be the correct one, so all of them are
 * quarantined.
 */
function withoutDuplicates<Each extends MappedPerson | MappedGroup>(
  kind: EntryKind,
  entries: readonly Each[],
  aside: Quarantined[],
): Map<string, Each> {
  const uuids = countBy(entries, ({ uuid }) => uuid);
  const ids = countBy(entries, ({ id }) => foldId(id));
  const kept = new Map<string, Each>();
  for (const entry of entries) {
    const { dn, uuid } = entry;
    const id = foldId(entry.id);
    const reason = (what: string) => `has the same ${what} as another entry`;
    if ((uuids.get(uuid) ?? 0) > 1)
      aside.push({ kind, dn, uuid, id: null, attribute: null, reason: reason('entryUUID') });
    else if ((ids.get(id) ?? 0) > 1)
      aside.push({ kind, dn, uuid, id, attribute: null, reason: reason('id') });
    else kept.set(uuid, entry);
  }
  return kept;
}

function countBy<Each>(entries: readonly Each[], keyOf: (entry: Each) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(keyOf(entry), (counts.get(keyOf(entry)) ?? 0) + 1);
  return counts;
}

/** Returns the person or group for each DN of a snapshot (pure). An entry that is both counts as a person. */
export function subjectsOf({ people, groups }: Pick<Snapshot, 'people' | 'groups'>): Map<string, Subject> {
  const subjects = new Map<string, Subject>();
  for (const { dnKey, uuid } of groups.values()) subjects.set(dnKey, { kind: 'group', uuid });
  for (const { dnKey, uuid } of people.values()) subjects.set(dnKey, { kind: 'person', uuid });
  return subjects;
}

/** Counts what is skipped in a whole directory although no entry has an error (pure). */
export function countSkipped({ groups }: Snapshot, subjects: Subjects): Skipped {
  let dangling = 0;
  let placeholders = 0;
  const nested = new Map<string, string[]>();
  for (const { uuid, references } of groups.values()) {
    const inner: string[] = [];
    for (const dnKey of references.keys()) {
      const subject = subjects.get(dnKey);
      if (subject === undefined) dangling++;
      else if (subject.uuid === uuid) placeholders++;
      else if (subject.kind === 'group') inner.push(subject.uuid);
    }
    nested.set(uuid, inner);
  }
  return { dangling, placeholders, cyclic: countCyclic(nested) };
}

/**
 * Counts groups that can be reached from themselves: those in strongly connected components of more than one
 * (Tarjan).
 */
function countCyclic(nested: ReadonlyMap<string, readonly string[]>): number {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const open: string[] = [];
  const isOpen = new Set<string>();
  let cyclic = 0;

  for (const root of nested.keys()) {
    if (order.has(root)) continue;
    // Uses an explicit stack, because a chain of groups may be deeper than the call stack.
    const visits = [{ group: root, next: 0 }];
    while (visits.length > 0) {
      const visit = visits[visits.length - 1];
      if (visit === undefined) break;
      const { group } = visit;
      if (visit.next === 0) {
        order.set(group, order.size);
        low.set(group, order.size - 1);
        open.push(group);
        isOpen.add(group);
      }
      const inner = nested.get(group)?.[visit.next++];
      if (inner !== undefined) {
        if (!order.has(inner)) visits.push({ group: inner, next: 0 });
        else if (isOpen.has(inner)) lower(low, group, order.get(inner));
        continue;
      }
      visits.pop();
      const outer = visits[visits.length - 1];
      if (outer !== undefined) lower(low, outer.group, low.get(group));
      if (low.get(group) !== order.get(group)) continue;
      const component = open.splice(open.indexOf(group));
      component.forEach((member) => isOpen.delete(member));
      if (component.length > 1) cyclic += component.length;
    }
  }
  return cyclic;
}

function lower(low: Map<string, number>, group: string, candidate: number | undefined): void {
  low.set(group, Math.min(low.get(group) ?? Infinity, candidate ?? Infinity));
}
