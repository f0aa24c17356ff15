import { setTimeout as sleep } from 'node:timers/promises';
import type { DirectoryDataSource } from './data-source.js';
import { DatabaseAwayError } from './database-start.error.js';
import { settlesWithin } from './settles-within.js';

/** Milliseconds within which a database usually is open and migrated. */
const SOON = 500;
/** Milliseconds between two attempts. */
const PAUSE = 500;

/** How a start waits for its database. */
export interface Waiting {
  /** Ends the wait. The start then fails with the error of the last attempt. */
  readonly signal: AbortSignal;
  /**
   * Called, once or repeatedly, while the database is unavailable. The next attempt waits for its promise.
   * @param reason of the last failed attempt; null if opening takes longer than usual
   */
  readonly onWait: (reason: string | null) => Promise<void>;
}

/**
 * Opens a database. Retries without a time limit while the database is unavailable.
 * @param waiting null to fail at once instead
 * @throws DatabaseStartError when the database cannot be used at all
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
