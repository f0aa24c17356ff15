import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Config } from '../config/config.js';
import { embeddedAddressOf } from '../config/settings/embedded-address.js';
import { Database } from '../database/database.js';
import { databaseError } from '../database/statements/database-error.js';
import { Revisions } from '../database/revisions/revisions.js';
import { Leadership } from '../mirror/sync/leadership.js';
import { MirrorState } from '../mirror/status/mirror-state.js';
import { countStored } from '../mirror/plan/stored-counts.js';
import type { SyncOutcome } from '../mirror/sync/outcome.js';
import type { ProgressStep } from '../mirror/sync/read-entries.js';
import type { RunOptions } from '../mirror/sync/run-options.js';
import { Synchronizer } from '../mirror/sync/synchronizer.js';
import { openSource } from '../sources/open-source.js';
import type { DirectorySource } from '../sources/source.js';
import { isMissing, withDatabase } from './context.js';
import { type PlanReport, reportPlan } from './plan-report.js';
import { describeStep, withProgress } from './progress.js';

export interface SyncResult {
  readonly outcome: SyncOutcome;
  /** The changes that were planned and not applied. Null: there are none. */
  readonly report: PlanReport | null;
}

/**
 * Executes one synchronization run over the configured directory, with its progress on a terminal.
 * @throws ServiceUnavailableError when the database is lost; errors of the directory are an outcome
 */
export async function runSync(
  given: Config,
  { creates = false, ...options }: RunOptions & { creates?: boolean },
): Promise<SyncResult> {
  const temporary =
    options.dryRun === true && isMissing(given) ? mkdtempSync(join(tmpdir(), 'directory-')) : null;
  // A dry run before the first start compares the directory with an empty database, and leaves none.
  const config = temporary === null ? given : withDirectory(given, temporary);
  try {
    return await runIn(config, options, creates || temporary !== null);
  } finally {
    if (temporary !== null) rmSync(temporary, { recursive: true, force: true });
  }
}

function withDirectory(config: Config, embedded: string): Config {
  return { ...config, database: { ...config.database, embedded, url: embeddedAddressOf(embedded).url } };
}

async function runIn(config: Config, options: RunOptions, creates: boolean): Promise<SyncResult> {
  // A run in bulk makes garbage faster than V8 collects it by default.
  setFlagsFromString('--heap-growing-percent=30');
  const source = openSource(config.directory);
  return withDatabase(
    config,
    async (dataSource) => {
      const { manager } = dataSource;
      const database = new Database(dataSource);
      const leadership = Leadership.ofCommand();
      const synchronizer = new Synchronizer(
        config,
        dataSource,
        new MirrorState(database, dataSource, leadership),
        new Revisions(config, database),
        leadership,
      );
      const outcome = await runWithProgress(synchronizer, source, options).catch((error: unknown) => {
        throw databaseError(error);
      });
      if (outcome.kind !== 'planned' && outcome.kind !== 'blocked') return { outcome, report: null };
      if (outcome.plan === null) return { outcome, report: null };
      return { outcome, report: await reportPlan(manager, outcome.plan, config.directory.mapping) };
    },
    { creates },
  );
}

async function runWithProgress(
  synchronizer: Synchronizer,
  source: DirectorySource,
  options: RunOptions,
): Promise<SyncOutcome> {
  const { people, groups } = await countStored(synchronizer.dataSource.manager);
  return withProgress((show) => {
    const progress = (step: ProgressStep) => {
      show(describeStep(step, people + groups));
    };
    progress({ stage: 'read', entries: 0 });
    return untilStopped((signal) => synchronizer.run(source, { ...options, force: true, signal, progress }));
  });
}

/** The first Ctrl-C cancels the run without leaving any changes, with the exit code of the signal. The second one ends the process. */
async function untilStopped<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const stopping = new AbortController();
  const stop = (signal: NodeJS.Signals) => {
    process.exitCode = 128 + constants.signals[signal];
    stopping.abort();
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work(stopping.signal);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
