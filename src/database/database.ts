import { Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { ServiceUnavailableError } from '../common/errors.js';
import { databaseError } from './database-error.js';
import { type Reader, readThrough } from './reader.js';
import type { Statement } from './statement.js';

/** How the rest of the house reads, and how it opens a transaction. */
@Injectable()
export class Database implements Reader {
  constructor(private readonly dataSource: DataSource) {}

  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return readThrough<Row>(this.pool, statement, values);
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
