import type { Entry } from '../ldap/entry.js';
import type { EntryKind } from './source.js';

/** The changes of a directory since it was last read, by entryUUID. */
export interface Delta {
  readonly people: ReadonlyMap<string, Entry>;
  readonly groups: ReadonlyMap<string, Entry>;
  /** Entries that were deleted, or that are no longer people. */
  readonly gonePeople: ReadonlySet<string>;
  readonly goneGroups: ReadonlySet<string>;
}

/** Collects changes. If an entry changes more than once, the last change counts. */
export class DeltaBuilder implements Delta {
  readonly people = new Map<string, Entry>();
  readonly groups = new Map<string, Entry>();
  readonly gonePeople = new Set<string>();
  readonly goneGroups = new Set<string>();
  /** Approximate size of the entries in bytes. */
  weight = 0;

  put(kind: EntryKind, uuid: string, entry: Entry): void {
    const { entries, gone } = this.of(kind);
    gone.delete(uuid);
    this.weight += weigh(entry) - weigh(entries.get(uuid));
    entries.set(uuid, entry);
  }

  remove(kind: EntryKind, uuid: string): void {
    const { entries, gone } = this.of(kind);
    this.weight -= weigh(entries.get(uuid));
    entries.delete(uuid);
    gone.add(uuid);
  }

  absorb(later: Delta): void {
    for (const [uuid, entry] of later.people) this.put('person', uuid, entry);
    for (const [uuid, entry] of later.groups) this.put('group', uuid, entry);
    for (const uuid of later.gonePeople) this.remove('person', uuid);
    for (const uuid of later.goneGroups) this.remove('group', uuid);
  }

  clear(): void {
    for (const each of [this.people, this.groups, this.gonePeople, this.goneGroups]) each.clear();
    this.weight = 0;
  }

  of(kind: EntryKind): { entries: Map<string, Entry>; gone: Set<string> } {
    return kind === 'person'
      ? { entries: this.people, gone: this.gonePeople }
      : { entries: this.groups, gone: this.goneGroups };
  }
}

/** Estimated overhead in bytes of an entry, and of each of its values, in addition to the content. */
const OVERHEAD = 200;

/** Approximate size of an entry in bytes. */
export function weigh(entry: Entry | undefined): number {
  if (entry === undefined) return 0;
  let weight = OVERHEAD;
  for (const values of entry.attributes.values()) {
    for (const value of values) weight += OVERHEAD + value.length;
  }
  return weight;
}

export function* entriesIn({ people, groups }: Delta): Generator<{ kind: EntryKind; entry: Entry }> {
  for (const entry of people.values()) yield { kind: 'person', entry };
  for (const entry of groups.values()) yield { kind: 'group', entry };
}
