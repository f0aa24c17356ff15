import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { embeddedAddressOf } from '../config/settings/database.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { Revisions } from '../database/revisions.js';
import { databaseError } from '../database/statements/database-error.js';
import type { RevisionOutcome } from '../mirror/revision/revision.js';
import { Session } from '../mirror/leadership.js';
import { isOfDirectory, type ProgressStep, type RunOptions, Synchronizer } from '../mirror/synchronizer.js';
import { openDirectory } from '../sources/ldap/ldap-servers.js';
import { isMissing, withDatabase } from './context.js';
import { describeStep, withProgress } from './progress.js';

/** `failed`: the directory could not be read, and nothing has changed. */
export type SyncResult =
  RevisionOutcome | { readonly kind: 'failed'; readonly reason: string } | { readonly kind: 'stopped' };

type SyncOptions = Pick<RunOptions, 'confirm' | 'dryRun'>;

/**
 * Compares every entry of the directory with the mirror once, and shows the progress on a terminal.
 * @param options `creates`: whether an embedded database is created if there is none
 * @throws ServiceUnavailableError when the database is lost; errors of the directory are an outcome
 */
export async function runSync(
  given: Config,
  { creates = false, ...options }: SyncOptions & { creates?: boolean },
): Promise<SyncResult> {
  const temporary =
    options.dryRun === true && isMissing(given) ? mkdtempSync(join(tmpdir(), 'directory-')) : null;
  // A dry run before the first start compares the directory with an empty database, and leaves none.
  const config = temporary === null ? given : withDirectory(given, temporary);
  try {
    return await withDatabase(config, (dataSource) => runIn(config, dataSource, options), {
      creates: creates || temporary !== null,
    });
  } finally {
    if (temporary !== null) rmSync(temporary, { recursive: true, force: true });
  }
}

function withDirectory(config: Config, embedded: string): Config {
  return { ...config, database: { ...config.database, embedded, url: embeddedAddressOf(embedded).url } };
}

async function runIn(
  config: Config,
  dataSource: DirectoryDataSource,
  options: SyncOptions,
): Promise<SyncResult> {
  const synchronizer = new Synchronizer(config, dataSource, new Revisions(dataSource, config));
  const session = await Session.open(dataSource.url);
  try {
    const [state] = await session.query<{ total: number; csns: string[] | null }[]>(
      'select user_count + group_count as total, context_csns as csns from mirror_state',
    );
    const { total = 0, csns = null } = state ?? {};
    return await withProgress((show) => {
      const progress = (step: ProgressStep) => {
        show(describeStep(step, total));
      };
      progress({ stage: 'read', entries: 0 });
      return untilStopped(async (signal) => {
        const directory = await openDirectory(config.directory, csns ?? [], signal);
        const close = () => {
          directory.close();
        };
        signal.addEventListener('abort', close);
        try {
          return await synchronizer.run(directory, session, { ...options, isWhole: true, signal, progress });
        } finally {
          directory.close();
        }
      });
    });
  } catch (error) {
    if (isOfDirectory(error)) return { kind: 'failed', reason: error.message };
    throw databaseError(error);
  } finally {
    session.destroy();
  }
}

/** The first Ctrl-C cancels the run without leaving any changes, with the exit code of the signal. The second one ends the process. */
async function untilStopped(work: (signal: AbortSignal) => Promise<SyncResult>): Promise<SyncResult> {
  const stopping = new AbortController();
  const stop = (signal: NodeJS.Signals) => {
    process.exitCode = 128 + constants.signals[signal];
    stopping.abort();
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work(stopping.signal);
  } catch (error) {
    if (stopping.signal.aborted) return { kind: 'stopped' };
    throw error;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
