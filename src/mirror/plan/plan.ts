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

/** A plan that changes nothing. */
export const EMPTY_PLAN: Plan = {
  createdPeople: [],
  updatedPeople: [],
  deletedPeople: [],
  createdGroups: [],
  updatedGroups: [],
  deletedGroups: [],
  memberships: [],
  nestings: [],
  regrouped: [],
  unresolved: [],
  hash: '',
};

export type Visible = Omit<Plan, 'hash' | 'regrouped' | 'unresolved'>;

interface Counts {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
}

/** Numbers of what a plan changes. */
export type ChangeCounts = Readonly<Record<'people' | 'groups' | 'memberships' | 'nestings', Counts>>;

export interface PlanSummary {
  readonly counts: ChangeCounts;
  /** See countRemovals. */
  readonly removals: number;
}

export function summaryOf(plan: Visible): PlanSummary {
  return {
    counts: {
      people: {
        created: plan.createdPeople.length,
        updated: plan.updatedPeople.length,
        deleted: plan.deletedPeople.length,
      },
      groups: {
        created: plan.createdGroups.length,
        updated: plan.updatedGroups.length,
        deleted: plan.deletedGroups.length,
      },
      memberships: countRoles(plan.memberships),
      nestings: countRoles(plan.nestings),
    },
    removals: countRemovals(plan),
  };
}

/** The changes of roles in groups and of entries that a plan does not delete. The others end with the entries. */
export function withoutDeleted(
  plan: Pick<Plan, 'deletedPeople' | 'deletedGroups' | 'memberships' | 'nestings'>,
  roles: 'memberships' | 'nestings',
): readonly RoleChange[] {
  const { deletedPeople, deletedGroups, [roles]: changes } = plan;
  if (deletedPeople.length + deletedGroups.length === 0) return changes;
  const groups = new Set(deletedGroups.map(({ uuid }) => uuid));
  // A user can become a group with the same entryUUID.
  const subjects = roles === 'nestings' ? groups : new Set(deletedPeople.map(({ uuid }) => uuid));
  return changes.filter(({ group, subject }) => !groups.has(group) && !subjects.has(subject));
}

function countRoles(changes: readonly RoleChange[]): Counts {
  const created = changes.filter(({ before }) => before === null).length;
  const deleted = changes.filter(({ after }) => after === null).length;
  return { created, updated: changes.length - created - deleted, deleted };
}

/**
 * Counts the roles removed from people who remain, in groups that remain. Other removals would count the same
 * departure twice.
 */
function countRemovals(plan: Visible): number {
  return withoutDeleted(plan, 'memberships').filter(({ after }) => after === null).length;
}

/** Number of visible changes. */
export function sizeOf({ hash, regrouped, unresolved, ...visible }: Plan): number {
  return Object.values(visible).reduce((sum, { length }) => sum + length, 0);
}

export function isEmpty(plan: Plan): boolean {
  return sizeOf(plan) === 0;
}

/** The same of the summary of a plan. */
export function changesNothing({ counts }: PlanSummary): boolean {
  return Object.values(counts).every(({ created, updated, deleted }) => created + updated + deleted === 0);
}
