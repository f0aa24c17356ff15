import type { EntityManager } from 'typeorm';
import type { ReportedField, ReportedFields, StoredRow, StoredRows } from './plan-report.js';

/** Reads rows of the mirror by entryUUID, with the reported fields. */
export async function readStoredRows(
  manager: EntityManager,
  { people, groups }: { people: readonly string[]; groups: readonly string[] },
  fields: ReportedFields,
): Promise<StoredRows> {
  return {
    people: await rowsOf(manager, 'users', fields.people, people),
    groups: await rowsOf(manager, 'groups', fields.groups, groups),
  };
}

async function rowsOf(
  manager: EntityManager,
  table: 'users' | 'groups',
  fields: readonly ReportedField[],
  uuids: readonly string[],
): Promise<Map<string, StoredRow>> {
  if (uuids.length === 0) return new Map();
  const columns = fields.map(({ name, sql }) => `${sql} as "${name}"`);
  const rows: (StoredRow & { uuid: string })[] = await manager.query(
    `select e.entry_uuid as uuid, ${columns.join(', ')} from ${table} e where e.entry_uuid = any ($1::uuid[])`,
    [uuids],
  );
  return new Map(rows.map((row) => [row.uuid, row]));
}
