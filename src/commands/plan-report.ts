import type { EntityManager } from 'typeorm';
import { type Field, isList, storedName } from '../common/field.js';
import type { DirectoryMapping } from '../config/model/mapping.js';
import { sqlOfField } from '../database/fields/field-columns.js';
import { type GroupRole, roleOf } from '../groups/group.model.js';
import type { Hashed, Plan, RoleChange, StoredEntry } from '../mirror/plan/plan.js';
import { type MappedGroup, type NamedAs, type MappedPerson, rankOfNaming } from '../mirror/map/snapshot.js';

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

interface UpdatedEntry extends ReportedEntry {
  /** The id before the change. It equals `id` unless the id changes. */
  readonly formerId: string;
  /** Names of the changed fields. Empty: only internal data of the entry changes. */
  readonly fields: readonly string[];
}

/** Null: no role. Both are equal when the group names the member by other attributes for the same role. */
export interface ReportedRole {
  readonly group: string;
  readonly before: GroupRole | null;
  readonly after: GroupRole | null;
}

interface StoredRow {
  readonly id: string;
  readonly name: string;
  /** The values of the reported fields, in their order. */
  readonly values: readonly unknown[];
}

/** A reported field: the SQL expression that reads it from the table `e`, and its value in a plan. */
interface ReportedField {
  readonly name: string;
  readonly sql: string;
  readonly valueOf: (value: MappedPerson | MappedGroup) => unknown;
}

interface PlannedChanges {
  readonly created: readonly Hashed<MappedPerson | MappedGroup>[];
  readonly updated: readonly Hashed<MappedPerson | MappedGroup>[];
  readonly deleted: readonly StoredEntry[];
  /** The entryUUIDs of entries that roles name. */
  readonly named: readonly string[];
}

/**
 * Converts a plan from entryUUIDs to ids and names. An entry whose row was deleted after the plan was made has its
 * entryUUID as id.
 */
export async function reportPlan(
  manager: EntityManager,
  plan: Plan,
  mapping: DirectoryMapping,
): Promise<PlanReport> {
  const { memberships, nestings } = plan;
  const people = await reportEntries(manager, 'users', mapping.users.fields, {
    created: plan.createdPeople,
    updated: plan.updatedPeople,
    deleted: plan.deletedPeople,
    named: memberships.map(({ subject }) => subject),
  });
  const groups = await reportEntries(manager, 'groups', mapping.groups.fields, {
    created: plan.createdGroups,
    updated: plan.updatedGroups,
    deleted: plan.deletedGroups,
    named: [...memberships, ...nestings]
      .map(({ group }) => group)
      .concat(nestings.map(({ subject }) => subject)),
  });
  const role = ({ group, before, after }: RoleChange) => ({
    group: groups.idOf(group),
    before: toRole(before),
    after: toRole(after),
  });
  return {
    people: people.changes,
    groups: groups.changes,
    memberships: memberships
      .map((each) => ({ ...role(each), user: people.idOf(each.subject) }))
      .sort((left, right) => compare(left.group, right.group) || compare(left.user, right.user)),
    nestings: nestings
      .map((each) => ({ ...role(each), subgroup: groups.idOf(each.subject) }))
      .sort((left, right) => compare(left.group, right.group) || compare(left.subgroup, right.subgroup)),
  };
}

async function reportEntries(
  manager: EntityManager,
  table: 'users' | 'groups',
  fields: readonly Field[],
  { created, updated, deleted, named }: PlannedChanges,
): Promise<{ changes: EntryChanges; idOf: (uuid: string) => string }> {
  const reported = reportedFields(fields);
  const changed = [...updated.map(({ value }) => value.uuid), ...deleted.map(({ uuid }) => uuid)];
  const rows = await readRows(manager, table, reported, [...new Set([...changed, ...named])]);
  const ids = new Map([...rows].map(([uuid, { id }]) => [uuid, id]));
  for (const { value } of [...created, ...updated]) ids.set(value.uuid, value.id);
  return {
    changes: {
      created: sorted(created.map(({ value: { id, name } }) => ({ id, name }))),
      updated: sorted(updated.map(({ value }) => reportUpdate(value, rows.get(value.uuid), reported))),
      deleted: sorted(deleted.map(({ uuid, id }) => ({ id, name: rows.get(uuid)?.name ?? id }))),
    },
    idOf: (uuid) => ids.get(uuid) ?? uuid,
  };
}

/** Returns the parts of an entry that can change: its fields, the DN, and values that the API does not show. */
function reportedFields(fields: readonly Field[]): ReportedField[] {
  return [
    ...fields
      .filter(({ reader }) => reader !== 'none')
      .map((field) => ({
        name: field.name,
        sql: sqlOfField(field, 'e'),
        valueOf: (value: MappedPerson | MappedGroup) =>
          value[storedName(field)] ?? (isList(field) || field.reader === 'reference' ? [] : null),
      })),
    { name: 'dn', sql: 'e.dn', valueOf: ({ dn }) => dn },
    { name: 'otherValues', sql: 'e.source_values', valueOf: ({ sourceValues }) => sourceValues },
  ];
}

async function readRows(
  manager: EntityManager,
  table: 'users' | 'groups',
  fields: readonly ReportedField[],
  uuids: readonly string[],
): Promise<Map<string, StoredRow>> {
  // PostgreSQL shortens long names, and fields of a model may have the name of another column.
  const columns = fields.map(({ sql }, index) => `${sql} as f${index}`);
  const rows: (Record<string, unknown> & { uuid: string; id: string; name: string })[] = await manager.query(
    `select e.entry_uuid as uuid, e.id, e.name, ${columns.join(', ')} from ${table} e where e.entry_uuid = any ($1::uuid[])`,
    [uuids],
  );
  return new Map(
    rows.map(({ uuid, id, name, ...row }) => [
      uuid,
      { id, name, values: fields.map((_, index) => row[`f${index}`] ?? null) },
    ]),
  );
}

function reportUpdate(
  value: MappedPerson | MappedGroup,
  row: StoredRow | undefined,
  fields: readonly ReportedField[],
): UpdatedEntry {
  return {
    id: value.id,
    name: value.name,
    formerId: row?.id ?? value.id,
    fields: fields
      .filter(
        ({ name, valueOf }, index) => row !== undefined && differs(name, row.values[index], valueOf(value)),
      )
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
