import type { DataSource, EntityManager } from 'typeorm';
import type { Config } from '../../config/config.js';
import type { Leadership } from '../sync/leadership.js';
import { TransactionWatch } from './transaction-watch.js';

interface Place {
  readonly database: Config['database'];
  readonly dataSource: DataSource;
  readonly leadership: Leadership;
}

/**
 * Runs a transaction that writes to the mirror: fenced by the lease, and watched while it lasts.
 * @param signal ends the transaction, also while it waits for a lock
 * @throws NotLeadingError when this process does not lead
 */
export function inApplyingTransaction<Result>(
  { database, dataSource, leadership }: Place,
  work: (manager: EntityManager) => Promise<Result>,
  signal: AbortSignal = new AbortController().signal,
): Promise<Result> {
  return dataSource.transaction(async (manager) => {
    await leadership.admit(manager);
    // Nothing else uses an embedded database.
    if (database.kind === 'pglite') return work(manager);
    const watch = await TransactionWatch.begin(database.url, manager, leadership);
    const watching = watch.run(signal);
    try {
      return await work(manager);
    } finally {
      watch.end();
      await watching;
    }
  });
}
