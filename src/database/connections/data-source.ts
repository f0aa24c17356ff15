import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type pg from 'pg';
import { DataSource, MigrationExecutor } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { ServiceUnavailableError } from '../../common/errors.js';
import { KeySeal, SEAL_BYTES } from '../../common/cursor.js';
import { settlesWithin } from '../../common/settles-within.js';
import type { Config } from '../../config/config.js';
import { nameDatabase } from '../../config/settings/database.js';
import { EmbeddedServer } from '../embedded/embedded-server.js';
import { Initial1763683200100 } from '../migrations/0001-initial.js';
import {
  databaseError,
  DatabaseAwayError,
  DatabaseStartError,
  NothingReadError,
  reasonOf,
} from '../statements/database-error.js';
import { type Statement, statementChannel } from '../statements/statement.js';
import { createPool, poolOptions, type DatabaseTimeLimits, timeLimitsFor } from './pool-options.js';

/** All migrations, in their order. */
export const MIGRATIONS = [Initial1763683200100];

/** Key of the advisory lock that allows one process at a time to migrate: the bytes of «migr». */
const MIGRATION_LOCK = 0x6d696772;

/** Milliseconds to open a connection to the reader endpoint: few, because the primary can answer instead. */
const READ_CONNECTION_MS = 500;
/** Milliseconds for which a check waits for the answer of the reader endpoint. */
const READ_CHECK_MS = 2000;

/** Prepared statements of a connection. */
const MAX_PREPARED = 100;

/** Statements that share a connection. A slow one delays those behind it. */
const MAX_TOGETHER = 8;

/** A connection that the statements of one turn of the event loop share. */
interface SharedConnection {
  readonly client: Promise<pg.PoolClient>;
  /** Statements without a result. */
  running: number;
  failure?: Error;
}

/** A statement is prepared from its second use on. The driver cannot close single ones: each connection has a limited number. */
class StatementPool {
  private shared: SharedConnection | null = null;
  private readonly used = new WeakSet<Statement>();
  private readonly prepared = new WeakMap<pg.ClientBase, Set<string>>();

  constructor(
    private readonly pool: () => pg.Pool,
    private readonly limits: DatabaseTimeLimits,
  ) {}

  /** Throws NothingReadError if there is no revision; ServiceError TIMEOUT; ServiceUnavailableError. */
  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const shared = this.share();
    const client = await shared.client;
    try {
      return await this.readOn<Row>(client, statement, values);
    } catch (error) {
      if (!(error instanceof NothingReadError)) shared.failure = error as Error;
      throw error;
    } finally {
      if (--shared.running === 0) {
        if (this.shared === shared) this.shared = null;
        client.release(shared.failure);
      }
    }
  }

  /** The requests of one turn send their statements in one write, and PostgreSQL answers in one (PostgreSQL 18, §32.5). */
  private share(): SharedConnection {
    if (this.shared === null || this.shared.running === MAX_TOGETHER) {
      const shared = { client: this.connect(), running: 0 };
      this.shared = shared;
      setImmediate(() => {
        if (this.shared === shared) this.shared = null;
      });
    }
    this.shared.running++;
    return this.shared;
  }

  private async connect(): Promise<pg.PoolClient> {
    try {
      const client = await this.pool().connect();
      const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
      stream.cork();
      setImmediate(() => {
        stream.uncork();
      });
      return client;
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** Runs one statement on a connection that the caller holds; it throws as `read` does. */
  async readOn<Row extends unknown[]>(
    client: pg.ClientBase,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const { name, text, returnsRevision } = statement;
    const query = {
      name: this.prepares(client, statement) ? name : undefined,
      queryMode: 'extended',
      text,
      values: [...values],
      rowMode: 'array',
      query_timeout: this.limits.result,
    };
    try {
      const sent = () => client.query(query) as unknown as Promise<pg.QueryArrayResult<Row>>;
      const { rows } = await statementChannel.tracePromise(sent, { name, text, values });
      if (returnsRevision && rows[0]?.at(-1) === null) throw new NothingReadError();
      return rows;
    } catch (error) {
      throw databaseError(error);
    }
  }

  private prepares(client: pg.ClientBase, statement: Statement): boolean {
    const names = this.prepared.get(client) ?? new Set();
    this.prepared.set(client, names);
    if (this.used.has(statement) && names.size < MAX_PREPARED) names.add(statement.name);
    this.used.add(statement);
    return names.has(statement.name);
  }
}

/** The TypeORM data source. It migrates the database, and starts the server of an `embedded:` URL. */
export class DirectoryDataSource extends DataSource {
  private embedded: EmbeddedServer | null = null;
  /** What waits until the database is open; null when it is. */
  private waiting: (() => unknown)[] | null = [];
  readonly timeLimits: DatabaseTimeLimits;
  /** Runs statements on the connections of TypeORM. */
  readonly statements: StatementPool;
  /** Runs statements on the reader endpoint, if there is one. */
  readonly readStatements: StatementPool;
  private previews: pg.Pool | null = null;
  private reads: pg.Pool | null = null;
  /** The last attempt to open the database. */
  opening: Promise<this> | null = null;
  /** Seals the numbers of rows in cursors, with the key of the database. */
  seal = new KeySeal(randomBytes(SEAL_BYTES));

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
    this.readStatements = new StatementPool(() => this.readPool ?? this.pool, limits);
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
    const closing = Promise.all([this.previews?.end(), this.reads?.end(), main]);
    this.previews = this.reads = null;
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

  /** The pool of the reader endpoint, DATABASE_READ_URL. Null: there is none (docs/adr/0021). */
  get readPool(): pg.Pool | null {
    const { readUrl, poolSize } = this.database;
    if (readUrl === null) return null;
    if (this.reads !== null) return this.reads;
    const options = poolOptions(poolSize, this.timeLimits);
    return (this.reads = createPool(readUrl, { ...options, connectionTimeoutMillis: READ_CONNECTION_MS }));
  }

  /** Why the reader endpoint cannot be read; null if it has a revision of the primary. */
  async checkReadPool(pool: pg.Pool): Promise<string | null> {
    const query = { text: 'select revision_uuid as id from mirror_state', query_timeout: READ_CHECK_MS };
    try {
      const { rows } = await pool.query<{ id: string | null }>(query);
      const known = await this.query<object[]>('select from revisions where uuid = $1', [
        rows[0]?.id ?? null,
      ]);
      return known.length === 0 ? 'it has no revision of the primary' : null;
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** For sessions of their own. */
  get url(): string {
    return this.database.url;
  }

  /** Returns a key that the installation creates once, for all processes. If two create it at once, the first wins. */
  async findOrCreateKey<Key extends object>(name: string, make: () => Promise<Key> | Key): Promise<Key> {
    const find = 'select value from embedded_keys where name = $1';
    const [found] = await this.query<{ value: Key }[]>(find, [name]);
    if (found !== undefined) return found.value;
    const text = 'insert into embedded_keys (name, value) values ($1, $2) on conflict do nothing';
    await this.query(text, [name, JSON.stringify(await make())]);
    return this.findOrCreateKey(name, make);
  }

  /** Returns false if the present key is another one. */
  async replaceKey(name: string, present: object, key: object): Promise<boolean> {
    const text = 'update embedded_keys set value = $3 where name = $1 and value = $2::jsonb';
    const values = [name, JSON.stringify(present), JSON.stringify(key)];
    const [, count] = await this.query<[rows: unknown[], count: number]>(text, values);
    return count === 1;
  }

  private async migrate(): Promise<void> {
    const runner = this.createQueryRunner();
    try {
      await runner.query(`set statement_timeout = 0; select pg_advisory_lock(${MIGRATION_LOCK})`);
      const executor = new MigrationExecutor(this, runner);
      executor.transaction = 'each';
      await executor.executePendingMigrations();
      const [state] = (await runner.query('select cursor_key as key from mirror_state')) as { key: Buffer }[];
      if (state !== undefined) this.seal = new KeySeal(state.key);
    } finally {
      // A lost connection has no lock. The caller throws the first error.
      const end = `select pg_advisory_unlock_all(); set statement_timeout = ${this.timeLimits.statement}`;
      await runner.query(end).catch(() => undefined);
      await runner.release();
    }
  }
}

function startError(error: unknown, database: Config['database']): unknown {
  if (error instanceof DatabaseStartError || !(error instanceof Error)) return error;
  const message = `The ${nameDatabase(database)} cannot be used: ${reasonOf(error)}`;
  // A temporary failure can be retried; a wrong password cannot.
  const isAway = databaseError(error) instanceof ServiceUnavailableError;
  return new (isAway ? DatabaseAwayError : DatabaseStartError)(message, { cause: error });
}
