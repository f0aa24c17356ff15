import type { DataSource, EntityManager } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Leadership } from '../sync/leadership.js';
import { TransactionWatch } from './transaction-watch.js';

interface Place {
  readonly dataSource: DataSource;
  readonly leadership: Leadership;
}

/**
 * Runs a transaction that writes to the mirror. It is fenced by the lease and monitored, and has no statement
 * timeout.
 * @param signal aborts the transaction, even while it waits for a lock; the end of the term does too
 * @throws NotLeadingError if this process is not the leader
 */
export async function inApplyingTransaction<Result>(
  { dataSource, leadership }: Place,
  work: (manager: EntityManager) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  // An embedded database has no URL, and no other session can block it.
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
