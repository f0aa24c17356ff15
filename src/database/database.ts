import diagnosticsChannel from 'node:diagnostics_channel';
import { Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { ServiceUnavailableError } from '../common/errors.js';
import { databaseError } from './database-error.js';
import type { Statement } from './statement.js';

/**
 * The milliseconds after which a connection is given up that says nothing. Above the time that a statement may take, so
 * that it is the database that speaks first when there is one.
 */
const PATIENCE = { query_timeout: 7000 };

/** Every statement of the reading path is published here, as a SentStatement, when somebody listens. */
export const statementChannel = diagnosticsChannel.channel('directory:statement');

export interface SentStatement extends Statement {
  readonly values: readonly unknown[];
}

/** How the rest of the house reads, and how it opens a transaction. */
@Injectable()
export class Database {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Runs one named prepared statement. Rows are arrays in the order of the columns: cheaper than objects, and
   * the statement stands beside the code that takes them apart (docs/adr/0004).
   * @throws ServiceUnavailableError when the database is away; ServiceError TIMEOUT when it takes too long
   */
  async read<Row extends unknown[]>(
    { name, text }: Statement,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    if (statementChannel.hasSubscribers)
      statementChannel.publish({ name, text, values } satisfies SentStatement);
    try {
      const result = await this.pool.query<Row>({
        name,
        text,
        values: [...values],
        rowMode: 'array',
        ...PATIENCE,
      });
      return result.rows;
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** Runs `work` in one transaction, and nothing of it stays when it throws. */
  async transaction<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result> {
    try {
      return await this.dataSource.transaction(work);
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** TypeORM sends unnamed statements only; the pool beneath it takes named ones. */
  private get pool(): Pool {
    // It is taken away while the service ends.
    if (!this.dataSource.isInitialized) throw new ServiceUnavailableError('The service is ending');
    return (this.dataSource.driver as unknown as { master: Pool }).master;
  }
}
