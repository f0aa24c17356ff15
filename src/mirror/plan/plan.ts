import type { MappedGroup, NamedAs, MappedPerson } from '../map/snapshot.js';

/** The part of a row of the mirror that a plan needs. */
export interface StoredEntry {
  readonly uuid: string;
  readonly id: string;
  readonly dnKey: string;
  readonly contentHash: Buffer;
}

export interface StoredGroup extends StoredEntry {
  readonly referencesHash: Buffer;
}

/** A change of a person or an inner group in a group: added, named differently, or removed. By entryUUID. */
export interface RoleChange {
  readonly group: string;
  readonly subject: string;
  readonly before: NamedAs | null;
  readonly after: NamedAs | null;
}

/** The same kind of change for a DN that no mirrored entry has. */
export interface ReferenceChange {
  readonly group: string;
  readonly dnKey: string;
  readonly after: NamedAs | null;
}

export interface Hashed<Value> {
  readonly value: Value;
  readonly contentHash: Buffer;
}

export interface HashedGroup extends Hashed<MappedGroup> {
  readonly referencesHash: Buffer;
}

/** All changes that make the mirror equal to the directory. Creating a plan changes nothing. */
export interface Plan {
  readonly createdPeople: readonly Hashed<MappedPerson>[];
  readonly updatedPeople: readonly Hashed<MappedPerson>[];
  readonly deletedPeople: readonly StoredEntry[];
  readonly createdGroups: readonly HashedGroup[];
  /** Groups whose own attributes changed. `memberships` and `nestings` list the changes of their members. */
  readonly updatedGroups: readonly HashedGroup[];
  readonly deletedGroups: readonly StoredEntry[];
  readonly memberships: readonly RoleChange[];
  readonly nestings: readonly RoleChange[];
  /** Groups whose references changed. Some of the references may be unresolved. */
  readonly regrouped: readonly HashedGroup[];
  /** Changes that are not visible. They are stored because an entry with that DN may appear later. */
  readonly unresolved: readonly ReferenceChange[];
  /** SHA-256, in hexadecimal, of all visible changes. It does not depend on how the plan was made. */
  readonly hash: string;
}

export type Visible = Omit<Plan, 'hash' | 'regrouped' | 'unresolved'>;

/**
 * Counts the roles removed from people who remain, in groups that remain. Other removals would count the same
 * departure twice.
 */
export function countRemovals({ memberships, deletedPeople, deletedGroups }: Visible): number {
  const gone = new Set([...deletedPeople, ...deletedGroups].map(({ uuid }) => uuid));
  return memberships.filter(
    ({ group, subject, after }) => after === null && !gone.has(group) && !gone.has(subject),
  ).length;
}

export function isEmpty({ hash, regrouped, unresolved, ...visible }: Plan): boolean {
  return Object.values(visible).every(({ length }) => length === 0);
}
