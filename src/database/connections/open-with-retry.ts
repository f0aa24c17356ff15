import { setTimeout as sleep } from 'node:timers/promises';
import type { DirectoryDataSource } from './data-source.js';
import { DatabaseAwayError } from './database-start.error.js';
import { settlesWithin } from './settles-within.js';

/** Milliseconds within which a database mostly is open, migrated and all. */
const SOON = 500;
/** Milliseconds between two attempts. */
const PAUSE = 500;

/** How a start waits for its database. */
export interface Waiting {
  /** Ends the waiting; the start then fails with what was waited for last. */
  readonly signal: AbortSignal;
  /**
   * The database is not there yet: called once or again and again, and waited for.
   * @param reason of the last attempt; null: it takes longer than usual
   */
  readonly onWait: (reason: string | null) => Promise<void>;
}

/**
 * Opens a database, and waits for one that is away, however long that takes.
 * @param waiting null: it is not waited for
 * @throws DatabaseStartError when it cannot be used at all
 */
export async function openPatiently(
  dataSource: DirectoryDataSource,
  waiting: Waiting | null,
): Promise<DirectoryDataSource> {
  if (waiting === null) return dataSource.initialize();
  for (;;) {
    const opening = dataSource.initialize();
    if (!(await settlesWithin(SOON, opening))) await waiting.onWait(null);
    try {
      return await opening;
    } catch (error) {
      if (!(error instanceof DatabaseAwayError) || waiting.signal.aborted) throw error;
      await waiting.onWait(error.message);
    }
    await sleep(PAUSE, undefined, { signal: waiting.signal }).catch(() => undefined);
  }
}
