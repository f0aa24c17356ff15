import type { EntityManager } from 'typeorm';
import type { StoredRow, StoredRows } from './plan-report.js';

const ENTRY_COLUMNS = `entry_uuid as uuid, id, name, email, dn, source_values as "otherValues", created_at as "createdAt"`;
const PERSON_COLUMNS = `${ENTRY_COLUMNS}, given_name as "givenName", family_name as "familyName",
  school_year as "schoolYear", photo, picture`;
const GROUP_COLUMNS = `${ENTRY_COLUMNS}, description, website`;

/** Rows of the mirror, by entryUUID, with the fields of PERSON_FIELDS and GROUP_FIELDS. */
export async function readStoredRows(
  manager: EntityManager,
  { people, groups }: { people: readonly string[]; groups: readonly string[] },
): Promise<StoredRows> {
  return {
    people: await rowsOf(manager, 'users', PERSON_COLUMNS, people),
    groups: await rowsOf(manager, 'groups', GROUP_COLUMNS, groups),
  };
}

async function rowsOf(
  manager: EntityManager,
  table: 'users' | 'groups',
  columns: string,
  uuids: readonly string[],
): Promise<Map<string, StoredRow>> {
  if (uuids.length === 0) return new Map();
  const rows: (StoredRow & { uuid: string })[] = await manager.query(
    `select ${columns} from ${table} where entry_uuid = any ($1::uuid[])`,
    [uuids],
  );
  return new Map(rows.map((row) => [row.uuid, row]));
}
