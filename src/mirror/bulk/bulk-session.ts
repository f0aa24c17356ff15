import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { TransactionSource } from '../apply/transaction-watch.js';

/** Memory of PostgreSQL for each sort or hash table of a bulk run, of which a statement has several. */
const WORK_MEMORY = '64MB';

const READ_LIMIT = `select current_setting('statement_timeout') as "limit"`;

/** A connection for the temporary tables of a bulk run. It is opened when the first of them is needed. */
export class BulkSession implements TransactionSource {
  private runner: QueryRunner | null = null;
  /** The time limit of statements before and afterwards. */
  private limit = '0';

  constructor(private readonly dataSource: DataSource) {}

  get options(): DataSource['options'] {
    return this.dataSource.options;
  }

  async open(): Promise<QueryRunner> {
    if (this.runner === null) {
      this.runner = this.dataSource.createQueryRunner();
      const [row] = await this.runner.manager.query<{ limit: string }[]>(READ_LIMIT);
      this.limit = row?.limit ?? this.limit;
      // Statements take longer than those of requests.
      await this.runner.query(`set statement_timeout = 0; set work_mem = '${WORK_MEMORY}'; discard temp`);
    }
    return this.runner;
  }

  async transaction<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result> {
    const { manager } = await this.open();
    return manager.transaction(work);
  }

  async close(): Promise<void> {
    const { runner } = this;
    this.runner = null;
    if (runner === null) return;
    await runner
      .query(`set statement_timeout = '${this.limit}'; reset work_mem; discard temp`)
      .catch(() => undefined);
    await runner.release();
  }
}
