import type { DataSource, EntityManager } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Leadership } from '../sync/leadership.js';
import { TransactionWatch } from './transaction-watch.js';

interface Place {
  readonly dataSource: DataSource;
  readonly leadership: Leadership;
}

/**
 * Runs a transaction that writes to the mirror: fenced by the lease, watched while it lasts, and as long as it takes.
 * @param signal ends the transaction, also while it waits for a lock; so does the end of the term
 * @throws NotLeadingError when this process does not lead
 */
export async function inApplyingTransaction<Result>(
  { dataSource, leadership }: Place,
  work: (manager: EntityManager) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  // An embedded database has none, and nothing else uses it.
  const { url } = dataSource.options as PostgresDataSourceOptions;
  const ends = [signal, leadership.signal].filter((each) => each !== undefined);
  let watch: TransactionWatch | null = null;
  try {
    return await dataSource.transaction(async (manager) => {
      if (url !== undefined) {
        watch = await TransactionWatch.begin(url, manager, leadership);
        watch.start(AbortSignal.any(ends));
      }
      await leadership.admit(manager);
      await manager.query('set local statement_timeout = 0');
      return work(manager);
    });
  } finally {
    await (watch as TransactionWatch | null)?.end();
  }
}
