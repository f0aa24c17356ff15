import type { ChangedObjects } from '../revisions/changed-objects.js';

/** Lists of keys on which rows depend, as a revision names them: see ChangedObjects. */
export const KEYED = ['users', 'groups', 'members', 'memberOf'] as const;
export type KeyedDependency = (typeof KEYED)[number];

/** A key that is a value of a statement, by its index. */
export type KeyValue = readonly [kind: KeyedDependency, index: number];

/** Dependencies without keys, each a bit. */
export const ANY_USER = 1;
export const ANY_GROUP = 2;
/** Every value of every user, and of every group. */
export const ALL_USERS = 4;
export const ALL_GROUPS = 8;
export const ALL_MEMBERSHIPS = 16;
export const EVERYTHING = 32;

/** What the roles and the audiences of a viewer depend on. */
export const VIEWER = ANY_USER | ANY_GROUP | ALL_MEMBERSHIPS;

/** With more keys of one kind, rows depend on all objects of that kind, so that memory is bounded. */
export const MOST_KEYS = 256;

/** What rows were read from, without repetitions. */
export type Dependencies = Readonly<Record<KeyedDependency, readonly number[]>> & { readonly bits: number };

/** Collects what the statements of a response read. Lists are kept as they are until `collect`, which most responses skip. */
export class ReadDependencies {
  private bits = 0;
  private readonly noted: [kind: KeyedDependency, keys: readonly unknown[]][] = [];

  /** @param keys numbers; other values, such as null, are ignored */
  note(kind: KeyedDependency, keys: readonly unknown[]): void {
    this.noted.push([kind, keys]);
  }

  noteAny(bits: number): void {
    this.bits |= bits;
  }

  get dependsOnEverything(): boolean {
    return (this.bits & EVERYTHING) !== 0;
  }

  collect(): Dependencies {
    const keys: Record<KeyedDependency, number[]> = { users: [], groups: [], members: [], memberOf: [] };
    let { bits } = this;
    for (const kind of KEYED) {
      const own = new Set<number>();
      for (const [of, list] of this.noted) {
        if (of !== kind) continue;
        for (const key of list) if (typeof key === 'number') own.add(key);
      }
      if (own.size > MOST_KEYS) bits |= COARSE[kind];
      if ((bits & (COARSE[kind] | EVERYTHING)) === 0) keys[kind] = [...own];
    }
    return { ...keys, bits };
  }
}

const COARSE: Readonly<Record<KeyedDependency, number>> = {
  users: ALL_USERS,
  groups: ALL_GROUPS,
  members: ALL_MEMBERSHIPS,
  memberOf: ALL_MEMBERSHIPS,
};

/** The dependencies without keys that a revision touches. */
export function bitsOf({ users, groups, members, memberOf, anyUser, anyGroup }: ChangedObjects): number {
  return (
    EVERYTHING |
    (anyUser ? ANY_USER : 0) |
    (anyGroup ? ANY_GROUP : 0) |
    (anyUser || users.length > 0 ? ALL_USERS : 0) |
    (anyGroup || groups.length > 0 ? ALL_GROUPS : 0) |
    (members.length + memberOf.length > 0 ? ALL_MEMBERSHIPS : 0)
  );
}

/**
 * Notes what the rows of a statement depend on. It is part of the statement, and statements of equal text share it, so it
 * uses only the text, the values and the rows.
 */
export type NoteReads = (
  reads: ReadDependencies,
  values: readonly unknown[],
  rows: readonly (readonly unknown[])[],
) => void;

/** The dependency on any object of a table. */
export const ANY_OF = { users: ANY_USER, groups: ANY_GROUP } as const;
/** The dependency on all lookups and lists of a table. */
export const ALL_OF = { users: ALL_USERS, groups: ALL_GROUPS } as const;

/** Of a statement with one row: the key of a found object in a column, or null if it does not exist. */
export function notesFound(table: 'users' | 'groups', column = 0, others = 0): NoteReads {
  return (reads, _values, [row]) => {
    noteFound(reads, table, row?.[column], others);
  };
}

export function noteFound(
  reads: ReadDependencies,
  table: 'users' | 'groups',
  key: unknown,
  others = 0,
): void {
  if (typeof key === 'number') reads.note(table, [key]);
  else reads.noteAny(ANY_OF[table]);
  reads.noteAny(others);
}
