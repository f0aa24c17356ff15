import pg from 'pg';
import { DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Config } from '../config/config.js';
import { DatabaseStartError } from './database-start.error.js';
import { damagedDirectoryError, EmbeddedPostgres } from './embedded-postgres.js';
import { Mirror1763683200000 } from './migrations/0001-mirror.js';
import { ServiceAccounts1763683200001 } from './migrations/0002-service-accounts.js';
import { References1763683200002 } from './migrations/0003-references.js';
import { Changes1763683200003 } from './migrations/0004-changes.js';
import { ReadModel1763683200004 } from './migrations/0005-read-model.js';

export const MIGRATIONS = [
  Mirror1763683200000,
  ServiceAccounts1763683200001,
  References1763683200002,
  Changes1763683200003,
  ReadModel1763683200004,
];

/** Milliseconds that one statement may take before it is cancelled; the mirror lifts it for its own writes. */
const STATEMENT_TIMEOUT = 5000;
/** Milliseconds after which the server ends the transaction of a process that is no longer heard of. */
const IDLE_TIMEOUT = 60_000;
/** Milliseconds that a request waits for a connection before it is told to come back. */
const CONNECTION_TIMEOUT = 2500;
/** The embedded database has one connection, and a revision being applied holds it for as long as it takes. */
const EMBEDDED_CONNECTION_TIMEOUT = 30_000;

/** Key of the advisory lock under which one process at a time migrates: the bytes of «migr». */
const MIGRATION_LOCK = 0x6d696772;

/**
 * The TypeORM data source on PostgreSQL or, when DATABASE_URL says `pglite:`, on a PGlite that it starts and
 * stops itself. Initialising it also migrates.
 */
export class DirectoryDataSource extends DataSource {
  private embedded: EmbeddedPostgres | null = null;
  private ownOverlays: pg.Pool | null = null;

  constructor(
    private readonly database: Config['database'],
    entities: PostgresDataSourceOptions['entities'],
  ) {
    super({
      type: 'postgres',
      entities: entities ?? [],
      migrations: MIGRATIONS,
      installExtensions: false,
      uuidExtension: 'pgcrypto',
      ...(database.kind === 'postgres' ? { url: database.url } : {}),
      extra: poolOptions(database),
    });
  }

  override async initialize(): Promise<this> {
    if (this.database.kind === 'pglite') {
      this.embedded = await EmbeddedPostgres.start(this.database.directory);
      this.setOptions({
        host: this.embedded.host,
        username: 'postgres',
        database: 'postgres',
        password: 'none',
      });
    }
    try {
      await super.initialize();
      await this.migrate();
      this.ownOverlays = createOverlays(this.database);
    } catch (error) {
      await this.stopQuietly();
      throw startError(error, this.database);
    }
    return this;
  }

  override async destroy(): Promise<void> {
    try {
      await this.ownOverlays?.end();
      await super.destroy();
    } finally {
      this.ownOverlays = null;
      await this.embedded?.stop();
      this.embedded = null;
    }
  }

  /** TypeORM's own connections: it sends unnamed statements only, and the pool takes named ones too. */
  get pool(): pg.Pool {
    return (this.driver as unknown as { master: pg.Pool }).master;
  }

  /** Where overlays have their connections: apart from all others, where there is more than one. */
  get overlays(): pg.Pool {
    return this.ownOverlays ?? this.pool;
  }

  private async migrate(): Promise<void> {
    // On one connection: there may be no second one.
    const runner = this.createQueryRunner();
    try {
      await runner.query('set statement_timeout = 0');
      await runner.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
      await refuseForeignTables(runner);
      const executor = new MigrationExecutor(this, runner);
      executor.transaction = 'each';
      await executor.executePendingMigrations();
    } finally {
      await runner.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]);
      await runner.query(`set statement_timeout = ${STATEMENT_TIMEOUT}`);
      await runner.release();
    }
  }

  private async stopQuietly(): Promise<void> {
    try {
      if (this.isInitialized) await super.destroy();
      await this.embedded?.stop();
    } catch {
      // The first error is the one to tell.
    }
    this.embedded = null;
  }
}

/** Before anything is written: a database with somebody else's tables in it stays as it is. */
async function refuseForeignTables(runner: QueryRunner): Promise<void> {
  const rows: { name: string }[] = await runner.manager.query(`
    select c.relname as name from pg_class c
    where c.relnamespace = to_regnamespace(current_schema()) and c.relkind in ('r', 'p')
      and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')`);
  const names = rows.map(({ name }) => name);
  if (names.length === 0 || names.includes('mirror_state')) return;
  // A first start that was cut off leaves the list of migrations behind, with nothing in it.
  if (names.length === 1 && names[0] === 'migrations') {
    const applied: unknown[] = await runner.manager.query('select from migrations limit 1');
    if (applied.length === 0) return;
  }
  throw new DatabaseStartError(
    'The database holds tables of another application: give this service one of its own (DATABASE_URL)',
  );
}

function poolOptions(database: Config['database']): object {
  const isEmbedded = database.kind === 'pglite';
  return {
    ...(isEmbedded
      ? { max: 1, connectionTimeoutMillis: EMBEDDED_CONNECTION_TIMEOUT, idleTimeoutMillis: 0 }
      : { max: database.poolSize, connectionTimeoutMillis: CONNECTION_TIMEOUT }),
    keepAlive: true,
    onConnect: async (client: pg.ClientBase) => {
      // Whoever waits for an answer is told, and the pool hears of a connection that is lost while nobody does.
      client.on('error', () => undefined);
      // PGlite has one session for as long as it runs: a new connection meets the prepared statements of the one
      // before, of which the driver knows nothing.
      if (isEmbedded) await client.query('discard all');
      // Small pages are not worth planning anew each time (docs/adr/0004), and nothing here is worth compiling: what is
      // guessed to be large mostly is not, and compiling it takes longer than running it.
      await client.query(
        `set plan_cache_mode = force_generic_plan; set enable_memoize = off; set jit = off; ` +
          // What is told of a page comes before its rows (src/database/page-query.ts).
          `set enable_parallel_append = off; ` +
          `set statement_timeout = ${STATEMENT_TIMEOUT}`,
      );
      // PGlite would end as a whole, and not only a session.
      if (!isEmbedded) await client.query(`set idle_in_transaction_session_timeout = ${IDLE_TIMEOUT}`);
    },
  };
}

/** Connections are opened when they are needed, and closed when they have not been for ten seconds. */
function createOverlays(database: Config['database']): pg.Pool | null {
  if (database.kind === 'pglite') return null;
  const pool = new pg.Pool({
    connectionString: database.url,
    ...poolOptions(database),
    max: database.previewPoolSize,
  });
  // An idle connection was lost: the next overlay opens another one.
  pool.on('error', () => undefined);
  return pool;
}

function startError(error: unknown, database: Config['database']): unknown {
  if (error instanceof DatabaseStartError || !(error instanceof Error)) return error;
  const { code } = error as { code?: string };
  if (database.kind === 'postgres') {
    const { host, pathname } = new URL(database.url);
    return new DatabaseStartError(
      `The database ${pathname.slice(1)} at ${host === '' ? 'the local socket' : host} cannot be used: ${error.message === '' ? (code ?? 'no answer') : error.message}`,
      { cause: error },
    );
  }
  return damagedDirectoryError(database.directory, error);
}
