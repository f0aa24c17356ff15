import { foldId } from '../../common/identity.js';
import type { EntryKind } from '../../sources/source.js';
import { storedKeyOf } from '../../sources/reference-key.js';
import { keysOfEntry, NAMED_BY_DN, type NamedByMasks } from './named-by.js';
import type { MappedGroup, MappedPerson, Quarantined, Skipped, Snapshot } from './snapshot.js';

export const SAME_UUID = 'has the same entryUUID as another entry';
export const SAME_ID = 'has the same id as another entry';

export interface Subject {
  readonly kind: EntryKind;
  readonly uuid: string;
}

/** The person or group that each key names, by storedKeyOf. */
export type Subjects = ReadonlyMap<string, Subject>;

/** Combines people and groups, and quarantines entries that conflict with each other (pure). */
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
 * If several entries share an id or an entryUUID, none is known to be the correct one: all are quarantined.
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
    if ((uuids.get(uuid) ?? 0) > 1)
      aside.push({ kind, dn, uuid, id: null, attribute: null, reason: SAME_UUID });
    else if ((ids.get(id) ?? 0) > 1) aside.push({ kind, dn, uuid, id, attribute: null, reason: SAME_ID });
    else kept.set(uuid, entry);
  }
  return kept;
}

function countBy<Each>(entries: readonly Each[], keyOf: (entry: Each) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(keyOf(entry), (counts.get(keyOf(entry)) ?? 0) + 1);
  return counts;
}

/** Returns the person or group for each key of a snapshot (pure). */
export function subjectsOf(
  snapshot: Pick<Snapshot, 'people' | 'groups'>,
  masks: NamedByMasks = NAMED_BY_DN,
): Map<string, Subject> {
  return chooseSubjects(namedIn(snapshot, masks));
}

/** An entry, and a key (storedKeyOf) that names it. */
export type Named = readonly [key: string, subject: Subject];

/** Yields every entry of a snapshot with each of its keys. */
export function* namedIn(
  { people, groups }: Pick<Snapshot, 'people' | 'groups'>,
  masks: NamedByMasks,
): Generator<Named> {
  const ofKind = { person: people, group: groups };
  for (const kind of ['person', 'group'] as const)
    for (const entry of ofKind[kind].values())
      for (const key of keysOfEntry(kind, entry, masks)) yield [storedKeyOf(key), { kind, uuid: entry.uuid }];
}

/**
 * Returns the person or group that each key names (pure). An entry that is both counts as a person. A key that names two
 * entries of a kind names none, because neither is known to be the correct one.
 */
export function chooseSubjects(named: Iterable<Named>): Map<string, Subject> {
  const subjects = new Map<string, Subject>();
  const ambiguous = new Set<string>();
  for (const [key, subject] of named) {
    const known = subjects.get(key);
    if (known?.kind === subject.kind && known.uuid !== subject.uuid) ambiguous.add(key);
    if (known?.kind !== 'person') subjects.set(key, subject);
  }
  for (const key of ambiguous) subjects.delete(key);
  return subjects;
}

/** Counts what is skipped in a whole directory although no entry has an error (pure). */
export function countSkipped({ groups }: Snapshot, subjects: Subjects): Skipped {
  let dangling = 0;
  let placeholders = 0;
  const nested = new Map<string, string[]>();
  for (const { uuid, references } of groups.values()) {
    const inner: string[] = [];
    for (const key of references.keys()) {
      const subject = subjects.get(storedKeyOf(key));
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
  const search = new CycleSearch(nested);
  for (const group of nested.keys()) search.visit(group);
  return search.cyclic;
}

class CycleSearch {
  cyclic = 0;
  private readonly order = new Map<string, number>();
  private readonly low = new Map<string, number>();
  /** Visited groups whose component is not complete, in the order of their visits, and the same as a set. */
  private readonly stack: string[] = [];
  private readonly open = new Set<string>();

  constructor(private readonly nested: ReadonlyMap<string, readonly string[]>) {}

  /** Uses an explicit stack, because a chain of groups may be deeper than the call stack. */
  visit(root: string): void {
    const visits = this.order.has(root) ? [] : [this.enter(root)];
    for (let visit = visits.at(-1); visit !== undefined; visit = visits.at(-1)) {
      const { group } = visit;
      const inner = this.nested.get(group)?.[visit.next++];
      if (inner === undefined) {
        visits.pop();
        this.leave(group);
        const outer = visits.at(-1);
        if (outer !== undefined) this.lower(outer.group, this.low.get(group));
      } else if (!this.order.has(inner)) visits.push(this.enter(inner));
      else if (this.open.has(inner)) this.lower(group, this.order.get(inner));
    }
  }

  private enter(group: string): { readonly group: string; next: number } {
    this.low.set(group, this.order.size);
    this.order.set(group, this.order.size);
    this.stack.push(group);
    this.open.add(group);
    return { group, next: 0 };
  }

  /** If a group is the first one of its component, the component is complete: all groups visited since. */
  private leave(group: string): void {
    if (this.low.get(group) !== this.order.get(group)) return;
    const component = this.stack.splice(this.stack.lastIndexOf(group));
    for (const member of component) this.open.delete(member);
    if (component.length > 1) this.cyclic += component.length;
  }

  private lower(group: string, candidate: number | undefined): void {
    this.low.set(group, Math.min(this.low.get(group) ?? Infinity, candidate ?? Infinity));
  }
}
