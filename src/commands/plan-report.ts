import type { Field } from '../common/field.js';
import type { DirectoryMapping } from '../config/settings/directory.js';
import { sqlOfField } from '../database/fields/field-columns.js';
import { type GroupRole, roleOf } from '../groups/group-role.js';
import { groupFields } from '../groups/group.fields.js';
import type { Hashed, Plan, RoleChange, StoredEntry } from '../mirror/plan/plan.js';
import { type MappedGroup, type NamedAs, type MappedPerson, rankOfNaming } from '../mirror/map/snapshot.js';
import { userFields } from '../users/user.fields.js';

/** A plan in readable form: with ids and names instead of entryUUIDs. Each list is sorted by id. */
export interface PlanReport {
  readonly people: EntryChanges;
  readonly groups: EntryChanges;
  readonly memberships: readonly (ReportedRole & { readonly user: string })[];
  readonly nestings: readonly (ReportedRole & { readonly subgroup: string })[];
}

export interface EntryChanges {
  readonly created: readonly ReportedEntry[];
  readonly updated: readonly UpdatedEntry[];
  readonly deleted: readonly ReportedEntry[];
}

export interface ReportedEntry {
  readonly id: string;
  readonly name: string;
}

export interface UpdatedEntry extends ReportedEntry {
  /** The id before the change. It equals `id` unless the id changes. */
  readonly formerId: string;
  /** Names of the changed fields. Empty: only internal data of the entry changes. */
  readonly fields: readonly string[];
}

/**
 * Roles before and after the change. Null: no role. Both are equal when the group names the member by other
 * attributes for the same role.
 */
export interface ReportedRole {
  readonly group: string;
  readonly before: GroupRole | null;
  readonly after: GroupRole | null;
}

/** The present row of an entry in the mirror. */
export interface StoredRow extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly name: string;
}

/** The rows of the entries of a plan, by entryUUID. */
export interface StoredRows {
  readonly people: ReadonlyMap<string, StoredRow>;
  readonly groups: ReadonlyMap<string, StoredRow>;
}

/**
 * A reported field: the SQL expression that reads it from the table `e`, and the function that reads its
 * value from a plan.
 */
export interface ReportedField {
  readonly name: string;
  readonly sql: string;
  readonly valueOf: (value: MappedPerson | MappedGroup) => unknown;
}

/**
 * Returns the parts of an entry that can change: its fields, the DN, and values that the API does not show.
 */
function reportedFields(fields: readonly Field[]): ReportedField[] {
  return [
    ...fields
      .filter(({ reader }) => reader !== 'none')
      .map((field) => ({
        name: field.name,
        sql: sqlOfField(field, 'e'),
        valueOf: (value: MappedPerson | MappedGroup) => value[field.name] ?? null,
      })),
    { name: 'dn', sql: 'e.dn', valueOf: ({ dn }) => dn },
    { name: 'otherValues', sql: 'e.source_values', valueOf: ({ sourceValues }) => sourceValues },
  ];
}

/** Returns the reported fields of users and groups. */
export function reportedFieldsOf({ people, groups }: DirectoryMapping): ReportedFields {
  return { people: reportedFields(userFields(people)), groups: reportedFields(groupFields(groups)) };
}

export type ReportedFields = Readonly<Record<'people' | 'groups', readonly ReportedField[]>>;

/**
 * Converts a plan from entryUUIDs to ids and names (pure).
 * @param stored see uuidsIn. A missing row was deleted after the plan was made; the report shows its
 * entryUUID
 */
export function reportPlan(plan: Plan, stored: StoredRows, fields: ReportedFields): PlanReport {
  const people = idsOf(plan.createdPeople, plan.updatedPeople, stored.people);
  const groups = idsOf(plan.createdGroups, plan.updatedGroups, stored.groups);
  const role = ({ group, before, after }: RoleChange) => ({
    group: groups.get(group) ?? group,
    before: toRole(before),
    after: toRole(after),
  });
  return {
    people: {
      created: sorted(plan.createdPeople.map(toEntry)),
      updated: sorted(plan.updatedPeople.map((each) => toUpdated(each, stored.people, fields.people))),
      deleted: sorted(plan.deletedPeople.map((each) => toDeleted(each, stored.people))),
    },
    groups: {
      created: sorted(plan.createdGroups.map(toEntry)),
      updated: sorted(plan.updatedGroups.map((each) => toUpdated(each, stored.groups, fields.groups))),
      deleted: sorted(plan.deletedGroups.map((each) => toDeleted(each, stored.groups))),
    },
    memberships: plan.memberships
      .map((each) => ({ ...role(each), user: people.get(each.subject) ?? each.subject }))
      .sort((left, right) => compare(left.group, right.group) || compare(left.user, right.user)),
    nestings: plan.nestings
      .map((each) => ({ ...role(each), subgroup: groups.get(each.subject) ?? each.subject }))
      .sort((left, right) => compare(left.group, right.group) || compare(left.subgroup, right.subgroup)),
  };
}

/**
 * Returns the entryUUIDs of the rows that a report needs: all entries of the plan except those that it
 * creates (pure).
 */
export function uuidsIn(plan: Plan): { people: string[]; groups: string[] } {
  const { memberships, nestings } = plan;
  const uuids = (
    created: readonly Hashed<MappedPerson | MappedGroup>[],
    updated: readonly Hashed<MappedPerson | MappedGroup>[],
    deleted: readonly StoredEntry[],
    named: readonly string[],
  ) => {
    const all = new Set([
      ...updated.map(({ value }) => value.uuid),
      ...deleted.map(({ uuid }) => uuid),
      ...named,
    ]);
    for (const { value } of created) all.delete(value.uuid);
    return [...all];
  };
  return {
    people: uuids(
      plan.createdPeople,
      plan.updatedPeople,
      plan.deletedPeople,
      memberships.map(({ subject }) => subject),
    ),
    groups: uuids(plan.createdGroups, plan.updatedGroups, plan.deletedGroups, [
      ...memberships.map(({ group }) => group),
      ...nestings.flatMap(({ group, subject }) => [group, subject]),
    ]),
  };
}

/** Maps the entryUUIDs of created, changed and stored entries to ids. */
function idsOf(
  created: readonly Hashed<MappedPerson | MappedGroup>[],
  updated: readonly Hashed<MappedPerson | MappedGroup>[],
  stored: ReadonlyMap<string, StoredRow>,
): ReadonlyMap<string, string> {
  const ids = new Map([...stored].map(([uuid, { id }]) => [uuid, id]));
  for (const { value } of [...created, ...updated]) ids.set(value.uuid, value.id);
  return ids;
}

function toEntry({ value: { id, name } }: Hashed<MappedPerson | MappedGroup>): ReportedEntry {
  return { id, name };
}

function toDeleted({ uuid, id }: StoredEntry, stored: ReadonlyMap<string, StoredRow>): ReportedEntry {
  return { id, name: stored.get(uuid)?.name ?? id };
}

function toUpdated(
  { value }: Hashed<MappedPerson | MappedGroup>,
  stored: ReadonlyMap<string, StoredRow>,
  fields: readonly ReportedField[],
): UpdatedEntry {
  const row = stored.get(value.uuid);
  return {
    id: value.id,
    name: value.name,
    formerId: row?.id ?? value.id,
    fields: fields
      .filter(({ name, valueOf }) => row !== undefined && differs(name, row[name] ?? null, valueOf(value)))
      .map(({ name }) => name),
  };
}

function differs(field: string, before: unknown, after: unknown): boolean {
  // The mirror keeps the earlier instant; see its upsert.
  if (field === 'createdAt') return after !== null && Number(after) < Number(before);
  return JSON.stringify(comparable(before)) !== JSON.stringify(comparable(after));
}

/** Sorts the members of an object, because the database returns them in its own order. */
function comparable(value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && !Buffer.isBuffer(value);
  return isObject ? Object.entries(value).sort(([left], [right]) => compare(left, right)) : value;
}

function toRole(namedAs: NamedAs | null): GroupRole | null {
  return namedAs === null ? null : roleOf(rankOfNaming(namedAs));
}

function sorted<Each extends { id: string }>(entries: readonly Each[]): Each[] {
  return [...entries].sort((left, right) => compare(left.id, right.id));
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
