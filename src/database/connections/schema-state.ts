import type { DirectoryDataSource } from './data-source.js';

/** How far the tables of a database are, compared with this release. */
export interface SchemaState {
  /** The number of migrations that the next start applies. */
  readonly pending: number;
  /** Whether there is no table yet. */
  readonly isEmpty: boolean;
  /** Whether the role may create what the first start creates. */
  readonly mayCreate: boolean;
}

/** Reads the state of a database that was opened without migrating it. */
export async function readSchemaState({ manager, migrations }: DirectoryDataSource): Promise<SchemaState> {
  const [rights] = await manager.query<{ has: boolean; may: boolean | null }[]>(`
    select to_regclass('migrations') is not null as has,
      has_schema_privilege(current_schema(), 'create') and (
        exists (select from pg_extension where extname = 'pg_trgm')
        or has_database_privilege(current_database(), 'create')
      ) as may`);
  const applied =
    rights?.has === true ? await manager.query<{ name: string }[]>('select name from migrations') : [];
  const names = new Set(applied.map(({ name }) => name));
  const pending = migrations.filter(({ name, constructor }) => !names.has(name ?? constructor.name));
  return { pending: pending.length, isEmpty: names.size === 0, mayCreate: rights?.may === true };
}
