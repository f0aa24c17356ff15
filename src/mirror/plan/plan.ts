import type { Group, NamedAs, Person } from '../map/snapshot.js';

/** A row of the mirror, as far as a plan needs it. */
export interface StoredEntry {
  readonly uuid: string;
  readonly id: string;
  readonly dnKey: string;
  readonly contentHash: Buffer;
}

export interface StoredGroup extends StoredEntry {
  readonly referencesHash: Buffer;
}

/** A person, or an inner group, who is named by a group, or differently, or no longer; all by entryUUID. */
export interface RoleChange {
  readonly group: string;
  readonly subject: string;
  readonly before: NamedAs | null;
  readonly after: NamedAs | null;
}

/** The same of a DN behind which nobody is. */
export interface ReferenceChange {
  readonly group: string;
  readonly dnKey: string;
  readonly after: NamedAs | null;
}

export interface Hashed<Value> {
  readonly value: Value;
  readonly contentHash: Buffer;
}

export interface HashedGroup extends Hashed<Group> {
  readonly referencesHash: Buffer;
}

/** Everything that has to happen for the mirror to equal the directory. A value: nothing has happened yet. */
export interface Plan {
  readonly createdPeople: readonly Hashed<Person>[];
  readonly updatedPeople: readonly Hashed<Person>[];
  readonly deletedPeople: readonly StoredEntry[];
  readonly createdGroups: readonly HashedGroup[];
  /** Those whose own attributes have changed; who is in them is told by `memberships` and `nestings`. */
  readonly updatedGroups: readonly HashedGroup[];
  readonly deletedGroups: readonly StoredEntry[];
  readonly memberships: readonly RoleChange[];
  readonly nestings: readonly RoleChange[];
  /** Groups that name others than before, some of whom may not be there. */
  readonly regrouped: readonly HashedGroup[];
  /** What nobody can see: it is kept for the day on which somebody gets that DN. */
  readonly unresolved: readonly ReferenceChange[];
  /** SHA-256, in hexadecimal, of all that can be seen: names exactly this plan, however it was come by. */
  readonly hash: string;
}

/** What somebody can see of it. */
export type Visible = Omit<Plan, 'hash' | 'regrouped' | 'unresolved'>;

/**
 * Roles taken from people who stay, in groups that stay. A membership that goes with its person or its group is
 * no news beside that: it would count one leaving twice.
 */
export function countRemovals({ memberships, deletedPeople, deletedGroups }: Visible): number {
  const gone = new Set([...deletedPeople, ...deletedGroups].map(({ uuid }) => uuid));
  return memberships.filter(
    ({ group, subject, after }) => after === null && !gone.has(group) && !gone.has(subject),
  ).length;
}

/** Whether there is nothing to do that anybody could see. */
export function isEmpty({ hash, regrouped, unresolved, ...visible }: Plan): boolean {
  return Object.values(visible).every(({ length }) => length === 0);
}
