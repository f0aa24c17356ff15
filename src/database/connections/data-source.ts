import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { ServiceUnavailableError } from '../../common/errors.js';
import { KeySeal, SEAL_BYTES } from '../../common/key-seal.js';
import { settlesWithin } from '../../common/settles-within.js';
import type { Config } from '../../config/config.js';
import { nameDatabase } from '../../config/settings/database.js';
import { EmbeddedServer } from '../embedded/embedded-server.js';
import { keepValueIndexes, type ValueIndexes } from '../fields/filters.js';
import { Initial1763683200100 } from '../migrations/0001-initial.js';
import {
  databaseError,
  isIncomplete,
  DatabaseAwayError,
  DatabaseStartError,
  reasonOf,
} from '../statements/database-error.js';
import { createPool, poolOptions, type DatabaseTimeLimits, timeLimitsFor } from './pool-options.js';
import { StatementPool } from './statement-pool.js';

/** All migrations, in their order. */
export const MIGRATIONS = [Initial1763683200100];

/** Key of the advisory lock that allows one process at a time to migrate: the bytes of «migr». */
const MIGRATION_LOCK = 0x6d696772;

/** An index of 100,000 rows takes a second, but its creation waits for all older transactions. */
const INDEX_TIMEOUT_MS = 60_000;

/** The TypeORM data source. It migrates the database, and starts the server of an `embedded:` URL. */
export class DirectoryDataSource extends DataSource {
  private embedded: EmbeddedServer | null = null;
  /** What waits until the database is open; null when it is. */
  private waiting: (() => unknown)[] | null = [];
  readonly timeLimits: DatabaseTimeLimits;
  /** Runs statements on the connections of TypeORM. */
  readonly statements: StatementPool;
  private previews: pg.Pool | null = null;
  /** The last attempt to open the database. */
  opening: Promise<this> | null = null;
  private cursorKey: Buffer = randomBytes(SEAL_BYTES);
  /** Seals the numbers of rows in cursors. */
  seal = new KeySeal(this.cursorKey);

  /** @param migrates otherwise nothing is changed in the database */
  constructor(
    private readonly database: Config['database'],
    entities: PostgresDataSourceOptions['entities'],
    private readonly migrates = true,
  ) {
    const limits = timeLimitsFor(database.timeoutSeconds);
    super({
      type: 'postgres',
      entities: entities ?? [],
      migrations: MIGRATIONS,
      installExtensions: false,
      uuidExtension: 'pgcrypto',
      url: database.url,
      extra: poolOptions(database.poolSize, limits),
    });
    this.timeLimits = limits;
    this.statements = new StatementPool(() => {
      if (this.isInitialized && this.waiting === null) return this.pool;
      throw new ServiceUnavailableError('The database is not open');
    }, limits);
  }

  override initialize(): Promise<this> {
    return (this.opening = this.open());
  }

  private async open(): Promise<this> {
    const { embedded } = this.database;
    try {
      if (embedded !== null) this.embedded = await EmbeddedServer.open(embedded);
      await super.initialize();
      if (this.migrates) await this.migrate();
      for (const work of this.waiting ?? []) await work();
      this.waiting = null;
    } catch (error) {
      await this.destroy().catch(() => undefined);
      throw startError(error, this.database);
    }
    return this;
  }

  /** Runs work that needs the database: now, or whenever it is opened later. If the work fails, so does the opening. */
  async whenOpen(work: () => unknown): Promise<void> {
    if (this.waiting === null) await work();
    else this.waiting.push(work);
  }

  override async destroy(): Promise<void> {
    const main = this.isInitialized ? super.destroy() : undefined;
    const closing = Promise.all([this.previews?.end(), main]);
    this.previews = null;
    try {
      // A statement of a server that hangs would never end.
      if (await settlesWithin(this.timeLimits.result, closing)) await closing;
    } finally {
      await this.embedded?.close();
      this.embedded = null;
    }
  }

  /** The connections of TypeORM. They also take named statements. */
  get pool(): pg.Pool {
    return (this.driver as PostgresDriver).master as pg.Pool;
  }

  /** The pool of preview transactions. */
  get previewPool(): pg.Pool {
    const options = poolOptions(this.database.previewPoolSize, this.timeLimits);
    return (this.previews ??= createPool(this.url, { ...options, query_timeout: this.timeLimits.result }));
  }

  /** For sessions of their own. */
  get url(): string {
    return this.database.url;
  }

  /** Creates and drops indexes: see keepValueIndexes. Each statement may take a minute. */
  async keepValueIndexes(wanted: ValueIndexes, signal: AbortSignal): Promise<void> {
    await this.withLimit(INDEX_TIMEOUT_MS, (runner) => keepValueIndexes(runner, wanted, signal));
  }

  /** The key of cursors differs after the restore of another database. */
  useCursorKey(key: Buffer): void {
    if (key.equals(this.cursorKey)) return;
    this.cursorKey = key;
    this.seal = new KeySeal(key);
  }

  private async migrate(): Promise<void> {
    await this.withLimit(0, async (runner) => {
      await runner.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
      const executor = new MigrationExecutor(this, runner);
      executor.transaction = 'each';
      await executor.executePendingMigrations();
      const [state] = (await runner.query('select cursor_key as key from mirror_state')) as { key: Buffer }[];
      // A database that is being restored has no row yet.
      if (state !== undefined) this.useCursorKey(state.key);
    });
  }

  /** Works in a session with another limit of a statement, in milliseconds. Its locks end with the work. */
  private async withLimit(limit: number, work: (runner: QueryRunner) => Promise<void>): Promise<void> {
    const runner = this.createQueryRunner();
    try {
      await runner.query(`set statement_timeout = ${limit}`);
      await work(runner);
    } finally {
      // A lost connection has neither. The caller throws the first error.
      const end = `select pg_advisory_unlock_all(); set statement_timeout = ${this.timeLimits.statement}`;
      await runner.query(end).catch(() => undefined);
      await runner.release();
    }
  }
}

function startError(error: unknown, database: Config['database']): unknown {
  if (error instanceof DatabaseStartError || !(error instanceof Error)) return error;
  const message = `The ${nameDatabase(database)} cannot be used: ${reasonOf(error)}`;
  // A temporary failure can be retried; a wrong password or a missing table cannot.
  const isAway = databaseError(error) instanceof ServiceUnavailableError && !isIncomplete(error);
  return new (isAway ? DatabaseAwayError : DatabaseStartError)(message, { cause: error });
}
