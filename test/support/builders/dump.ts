import pg from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import { MIGRATIONS } from '../../../src/database/connections/data-source.js';

/** The content of a database: what pg_dump writes, without the definitions, which are those of the migrations. */
interface Backup {
  readonly tables: readonly { readonly name: string; readonly columns: string; readonly rows: string }[];
  readonly sequences: readonly { readonly name: string; readonly value: string }[];
}

const TABLES = `
  select format('%I', c.relname) as name, string_agg(format('%I', a.attname), ', ' order by a.attnum) as columns
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> 'migrations'
  group by c.relname order by c.relname`;
const SEQUENCES = `
  select format('%I', sequencename) as name, last_value::text as value from pg_sequences
  where schemaname = 'public' and last_value is not null`;
const FUNCTIONS = `
  select p.oid::regprocedure::text as name from pg_proc p
  where p.pronamespace = 'public'::regnamespace
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`;
/** As in a restore, triggers and keys take no part. */
const WITHOUT_TRIGGERS = 'set session_replication_role = replica';

type Query = (text: string, values?: unknown[]) => Promise<unknown>;

export async function dump(url: string): Promise<Backup> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('begin isolation level repeatable read');
  const { rows } = await client.query<{ name: string; columns: string }>(TABLES);
  const tables: { name: string; columns: string; rows: string }[] = [];
  for (const table of rows) {
    const content = await client.query<{ text: string }>(
      `select coalesce(json_agg(t), '[]')::text as text from ${table.name} t`,
    );
    tables.push({ ...table, rows: content.rows[0]?.text ?? '[]' });
  }
  const sequences = await client.query<{ name: string; value: string }>(SEQUENCES);
  await client.end();
  return { tables, sequences: sequences.rows };
}

/** Restores a backup in place and in one transaction, like `pg_restore --clean --single-transaction`. Clients stay connected. */
export async function restore(url: string, backup: Backup): Promise<void> {
  const dataSource = new DataSource({ type: 'postgres', url, installExtensions: false });
  await dataSource.initialize();
  const runner = dataSource.createQueryRunner();
  const query: Query = (text, values) => runner.query(text, values);
  try {
    await runner.startTransaction();
    await drop(query);
    await create(runner);
    await fill(query, backup.tables);
    await complete(query, backup);
    await runner.commitTransaction();
  } finally {
    await runner.release();
    await dataSource.destroy();
  }
}

async function drop(query: Query): Promise<void> {
  const tables = (await query(TABLES)) as { name: string }[];
  await query('drop materialized view database_complete cascade');
  await query(`drop table ${tables.map(({ name }) => name).join(', ')} cascade`);
  const functions = (await query(FUNCTIONS)) as { name: string }[];
  await query(`drop function ${functions.map(({ name }) => name).join(', ')} cascade`);
}

/** Creates empty tables. */
async function create(runner: QueryRunner): Promise<void> {
  for (const Migration of MIGRATIONS) await new Migration().up(runner);
  const tables = (await runner.query(TABLES)) as { name: string }[];
  await runner.query('refresh materialized view database_complete with no data');
  await runner.query(`truncate ${tables.map(({ name }) => name).join(', ')}`);
}

async function fill(query: Query, tables: Backup['tables']): Promise<void> {
  await query(WITHOUT_TRIGGERS);
  for (const { name, columns, rows } of tables)
    await query(
      `insert into ${name} (${columns}) overriding system value
       select ${columns} from json_populate_recordset(null::${name}, $1)`,
      [rows],
    );
}

async function complete(query: Query, { sequences }: Backup): Promise<void> {
  for (const { name, value } of sequences) await query('select setval($1::regclass, $2)', [name, value]);
  await query('set session_replication_role = origin');
  // pg_restore does it last, too.
  await query('refresh materialized view database_complete');
}
