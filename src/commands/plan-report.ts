import { type GroupRole, roleOf } from '../memberships/role.js';
import type { Hashed, Plan, RoleChange, StoredEntry } from '../mirror/plan/plan.js';
import { type Group, type NamedAs, type Person, rankOfNaming } from '../mirror/map/snapshot.js';

/** A plan as people read one: ids and names in the place of entryUUIDs, each list in the order of its ids. */
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
  /** The id until now: another one only where that changes. */
  readonly formerId: string;
  /** Which fields change; none where nothing does but how the entry is kept. */
  readonly fields: readonly string[];
}

/** Roles before and after; null: none. Equal ones where other attributes name somebody for the same role. */
export interface ReportedRole {
  readonly group: string;
  readonly before: GroupRole | null;
  readonly after: GroupRole | null;
}

/** A row of the mirror as it is now. */
export interface StoredRow extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly name: string;
}

/** The rows that a plan is about, by entryUUID. */
export interface StoredRows {
  readonly people: ReadonlyMap<string, StoredRow>;
  readonly groups: ReadonlyMap<string, StoredRow>;
}

type Valued<Value> = Readonly<Record<string, (value: Value) => unknown>>;

const ENTRY_FIELDS: Valued<Person | Group> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  email: ({ email }) => email,
  createdAt: ({ createdAt }) => createdAt,
  dn: ({ dn }) => dn,
  otherValues: ({ sourceValues }) => sourceValues,
};

/** What can change of a person, and what stands there. */
export const PERSON_FIELDS: Valued<Person> = {
  ...ENTRY_FIELDS,
  givenName: ({ givenName }) => givenName,
  familyName: ({ familyName }) => familyName,
  schoolYear: ({ schoolYear }) => schoolYear,
  photo: ({ photo }) => photo,
  picture: ({ picture }) => picture,
};

export const GROUP_FIELDS: Valued<Group> = {
  ...ENTRY_FIELDS,
  description: ({ description }) => description,
  website: ({ website }) => website,
};

/**
 * Puts into words that people know what a plan says in entryUUIDs (pure).
 * @param stored see uuidsIn: what is missing has gone since the plan was made, and is called by its entryUUID
 */
export function reportPlan(plan: Plan, stored: StoredRows): PlanReport {
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
      updated: sorted(plan.updatedPeople.map((each) => toUpdated(each, stored.people, PERSON_FIELDS))),
      deleted: sorted(plan.deletedPeople.map((each) => toDeleted(each, stored.people))),
    },
    groups: {
      created: sorted(plan.createdGroups.map(toEntry)),
      updated: sorted(plan.updatedGroups.map((each) => toUpdated(each, stored.groups, GROUP_FIELDS))),
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

/** Whose rows have to be known for a report: the entryUUIDs of all that the plan does not bring itself (pure). */
export function uuidsIn(plan: Plan): { people: string[]; groups: string[] } {
  const { memberships, nestings } = plan;
  const uuids = (
    created: readonly Hashed<Person | Group>[],
    updated: readonly Hashed<Person | Group>[],
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

/** The ids that there will be, and those of who goes. */
function idsOf(
  created: readonly Hashed<Person | Group>[],
  updated: readonly Hashed<Person | Group>[],
  stored: ReadonlyMap<string, StoredRow>,
): ReadonlyMap<string, string> {
  const ids = new Map([...stored].map(([uuid, { id }]) => [uuid, id]));
  for (const { value } of [...created, ...updated]) ids.set(value.uuid, value.id);
  return ids;
}

function toEntry({ value: { id, name } }: Hashed<Person | Group>): ReportedEntry {
  return { id, name };
}

function toDeleted({ uuid, id }: StoredEntry, stored: ReadonlyMap<string, StoredRow>): ReportedEntry {
  return { id, name: stored.get(uuid)?.name ?? id };
}

function toUpdated<Value extends Person | Group>(
  { value }: Hashed<Value>,
  stored: ReadonlyMap<string, StoredRow>,
  fields: Valued<Value>,
): UpdatedEntry {
  const row = stored.get(value.uuid);
  return {
    id: value.id,
    name: value.name,
    formerId: row?.id ?? value.id,
    fields: Object.entries(fields)
      .filter(([field, read]) => row !== undefined && differs(field, row[field] ?? null, read(value)))
      .map(([field]) => field),
  };
}

function differs(field: string, before: unknown, after: unknown): boolean {
  // The earlier instant is kept: see the upsert of the mirror.
  if (field === 'createdAt') return after !== null && Number(after) < Number(before);
  return JSON.stringify(comparable(before)) !== JSON.stringify(comparable(after));
}

/** The database gives the members of an object in an order of its own. */
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
