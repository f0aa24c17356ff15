/**
 * What a revision changed, by the keys of users and groups (docs/adr/0042). Null in its place: everything.
 * Objects that were created have no keys here, because nothing was read from them before.
 */
export interface ChangedObjects {
  /** Users whose own values changed, and those that were deleted. */
  readonly users: readonly number[];
  /** The same for groups. The number of members is a value of the group. */
  readonly groups: readonly number[];
  /** Groups whose list of effective members, or of groups inside them, has other rows or another order. */
  readonly members: readonly number[];
  /** Users whose list of groups has other rows or another order. */
  readonly memberOf: readonly number[];
  /** Whether a user was created or deleted, or lists, searches and lookups find users in another way. */
  readonly anyUser: boolean;
  readonly anyGroup: boolean;
}

const LISTS = ['users', 'groups', 'members', 'memberOf'] as const;

/** A revision with more keys counts as a change of everything: most responses would be lost anyway. */
export const MOST_CHANGED = 2000;

/** Null also for a value of another release. */
export function changedObjectsIn(value: unknown): ChangedObjects | null {
  if (typeof value !== 'object' || value === null) return null;
  const changed = value as Record<keyof ChangedObjects, unknown>;
  const areLists = LISTS.every((name) => isListOfKeys(changed[name]));
  const areFlags = typeof changed.anyUser === 'boolean' && typeof changed.anyGroup === 'boolean';
  const hasOthers = Object.keys(changed).length > LISTS.length + 2;
  return areLists && areFlags && !hasOthers ? (changed as unknown as ChangedObjects) : null;
}

function isListOfKeys(value: unknown): boolean {
  return Array.isArray(value) && value.every((key) => Number.isInteger(key));
}
