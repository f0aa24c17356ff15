import type { OnApplicationShutdown } from '@nestjs/common';
import type pg from 'pg';
import { ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import type { Revisions } from '../revisions.js';
import { NothingReadError, reasonOf } from '../statements/database-error.js';
import { revisionOf, type Statement } from '../statements/statement.js';
import { createPool, poolOptions, timeLimitsFor } from './pool-options.js';
import { StatementPool } from './statement-pool.js';

/** Milliseconds to open a connection: few, because the primary can answer instead. */
const CONNECTION_TIMEOUT_MS = 500;
/** After an error the primary answers for this time, so that not every request waits for a server that does not. */
const REST_MS = 1000;

/** What DATABASE_READ_URL names: the standby of the primary, or the balancer in front of several (docs/adr/0021). */
export class ReadServer implements OnApplicationShutdown {
  readonly pool: pg.Pool;
  private readonly statements: StatementPool;
  /** On the clock of `performance.now()`. */
  private restsUntil = 0;

  constructor(url: string, { poolSize, timeoutSeconds }: Config['database']) {
    const limits = timeLimitsFor(timeoutSeconds);
    const options = poolOptions(poolSize, limits);
    this.pool = createPool(url, { ...options, connectionTimeoutMillis: CONNECTION_TIMEOUT_MS });
    this.statements = new StatementPool(() => this.pool, limits);
  }

  /** Requests are answered until this hook runs. */
  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }

  /**
   * Runs a statement that returns its revision. Null if the primary has to answer: the rows are not of the current revision, which
   * an empty result never proves, or the server failed.
   * @throws ServiceError TIMEOUT
   */
  async read<Row extends unknown[]>(
    statement: Statement,
    values: readonly unknown[],
    { known }: Pick<Revisions, 'known'>,
  ): Promise<Row[] | null> {
    if (known === null || performance.now() < this.restsUntil) return null;
    try {
      const rows = await this.statements.read<Row>(statement, values);
      return revisionOf(statement, rows) === known.id ? rows : null;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'TIMEOUT') throw error;
      if (!(error instanceof NothingReadError)) this.restsUntil = performance.now() + REST_MS;
      return null;
    }
  }
}

/** Why a server cannot be read; null if it has a revision of the primary. */
export async function checkReadServer(url: string, primary: pg.Pool): Promise<string | null> {
  const pool = createPool(url, { connectionTimeoutMillis: 2000, query_timeout: 2000 });
  try {
    const { rows } = await pool.query<{ id: string | null }>('select revision_uuid as id from mirror_state');
    const known = await primary.query('select from revisions where uuid = $1', [rows[0]?.id ?? null]);
    return known.rowCount === 0 ? 'it has no revision of the primary' : null;
  } catch (error) {
    return reasonOf(error);
  } finally {
    await pool.end();
  }
}
