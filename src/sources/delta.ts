import type { Entry } from '../ldap/entry.js';
import type { EntryKind } from './source.js';

/** What has changed in a directory since it was last read, by entryUUID. */
export interface Delta {
  readonly people: ReadonlyMap<string, Entry>;
  readonly groups: ReadonlyMap<string, Entry>;
  /** Who is no longer there, or is no longer one of the people. */
  readonly gonePeople: ReadonlySet<string>;
  readonly goneGroups: ReadonlySet<string>;
}

/** Gathers what has changed: of an entry that changes more than once, the last word counts. */
export class DeltaBuilder implements Delta {
  readonly people = new Map<string, Entry>();
  readonly groups = new Map<string, Entry>();
  readonly gonePeople = new Set<string>();
  readonly goneGroups = new Set<string>();
  /** About as many bytes as its entries take up. */
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

  /** Takes what came later. */
  absorb(later: Delta): void {
    for (const [uuid, entry] of later.people) this.put('person', uuid, entry);
    for (const [uuid, entry] of later.groups) this.put('group', uuid, entry);
    for (const uuid of later.gonePeople) this.remove('person', uuid);
    for (const uuid of later.goneGroups) this.remove('group', uuid);
  }

  /** Everything has been taken over. */
  clear(): void {
    for (const each of [this.people, this.groups, this.gonePeople, this.goneGroups]) each.clear();
    this.weight = 0;
  }

  /** What is known of one kind. */
  of(kind: EntryKind): { entries: Map<string, Entry>; gone: Set<string> } {
    return kind === 'person'
      ? { entries: this.people, gone: this.gonePeople }
      : { entries: this.groups, gone: this.goneGroups };
  }
}

/** What an entry, and each of its values, takes up besides the bytes. */
const OVERHEAD = 200;

/** About as many bytes as an entry takes up. */
export function weigh(entry: Entry | undefined): number {
  if (entry === undefined) return 0;
  let weight = OVERHEAD;
  for (const values of entry.attributes.values()) {
    for (const value of values) weight += OVERHEAD + value.length;
  }
  return weight;
}
