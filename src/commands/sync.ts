import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { printable } from '../common/printable.js';
import type { Config } from '../config/config.js';
import { PROGRAM } from '../config/paths.js';
import { embeddedAddressOf } from '../config/settings/database.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { Revisions } from '../database/revisions.js';
import { databaseError } from '../database/statements/database-error.js';
import { AS_JSON, EXIT_FAILED, printErrors } from '../process.js';
import { changesNothing, type RevisionOutcome } from '../mirror/revision/write-revision.js';
import { Session } from '../mirror/leadership.js';
import { isOfDirectory, type RunOptions, summarize, Synchronizer } from '../mirror/synchronizer.js';
import { openDirectory } from '../sources/ldap/ldap-servers.js';
import { describeChanges, groupedChanges } from './changes-text.js';
import {
  entriesRead,
  isMissing,
  paint,
  printWritten,
  readRecognizedConfig,
  withDatabase,
  withProgress,
} from './context.js';

const SHOWN = 20;

interface SyncOptions {
  dryRun?: true;
  confirm?: string;
  all?: true;
  new?: true;
}

/** `failed`: the directory could not be read, and nothing has changed. */
type SyncResult =
  RevisionOutcome | { readonly kind: 'failed'; readonly reason: string } | { readonly kind: 'stopped' };

/** Compares every entry of the directory with the mirror once. */
export async function sync({ all, new: creates, dryRun, confirm }: SyncOptions): Promise<void> {
  const given = await readRecognizedConfig();
  // A dry run before the first start compares the directory with an empty database, and leaves none.
  const temporary = dryRun === true && isMissing(given) ? mkdtempSync(join(tmpdir(), 'directory-')) : null;
  const config = temporary === null ? given : withEmbedded(given, temporary);
  try {
    const work = (dataSource: DirectoryDataSource) => runOnce(config, dataSource, { dryRun, confirm });
    const result = await withDatabase(config, work, { creates: creates === true || temporary !== null });
    if (result.kind === 'applied') {
      const text = `Revision ${result.revision.number}: ${summarize(result.counts)}`;
      printWritten(config, toJson(result), (where) => `${text}\nIt is ${where}.`);
    } else if (AS_JSON) console.log(JSON.stringify(toJson(result)));
    else printResult(result, all === true ? Infinity : SHOWN);
    // A run that a signal has stopped has the exit code of the signal.
    if (['failed', 'blocked', 'refused'].includes(result.kind)) process.exitCode = EXIT_FAILED;
  } finally {
    if (temporary !== null) rmSync(temporary, { recursive: true, force: true });
  }
}

function withEmbedded(config: Config, embedded: string): Config {
  return { ...config, database: { ...config.database, embedded, url: embeddedAddressOf(embedded).url } };
}

/** @throws ServiceUnavailableError when the database is lost; errors of the directory are an outcome */
async function runOnce(
  config: Config,
  dataSource: DirectoryDataSource,
  options: Pick<RunOptions, 'confirm' | 'dryRun'>,
): Promise<SyncResult> {
  const synchronizer = new Synchronizer(config, dataSource, new Revisions(dataSource, config));
  const session = await Session.open(dataSource.url);
  try {
    const [state] = await session.query<{ total: number; csns: string[] | null }[]>(
      'select user_count + group_count as total, context_csns as csns from mirror_state',
    );
    const { total = 0, csns = null } = state ?? {};
    const about = total === 0 ? '' : `, of about ${total.toLocaleString('en')}`;
    return await withProgress((show) =>
      untilStopped(async (signal) => {
        show('Reading the directory');
        const directory = await openDirectory(config.directory, csns ?? [], signal);
        const close = () => {
          directory.close();
        };
        signal.addEventListener('abort', close);
        const progress: RunOptions['progress'] = (step) => {
          if (step.stage === 'read') show(entriesRead(step.entries) + about);
          else show(step.stage === 'compare' ? 'All entries are read. Comparing' : 'Writing the changes');
        };
        try {
          return await synchronizer.run(directory, session, { ...options, isWhole: true, signal, progress });
        } finally {
          close();
        }
      }),
    );
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

function printResult(result: Exclude<SyncResult, { kind: 'applied' }>, limit: number): void {
  switch (result.kind) {
    case 'unchanged':
    case 'held':
      console.log('Nothing has changed.');
      break;
    case 'planned':
      printPlan(result, limit);
      break;
    case 'blocked':
      console.log(`${summarize(result.counts)}\nPlan ${result.hash}`);
      printErrors(
        [`The plan is blocked. ${result.reason}`],
        `To see the changes: ${PROGRAM} sync --dry-run --all\n${confirmation(result.hash)}`,
      );
      break;
    case 'refused':
      printErrors([`Nothing was changed. ${result.reason}`]);
      break;
    case 'failed':
      printErrors(
        [`Nothing was changed. ${printable(result.reason)}`],
        `To find the cause: ${PROGRAM} check`,
      );
      break;
    case 'stopped':
      printErrors(['Nothing was changed: the run was stopped']);
  }
}

const COLORS: Readonly<Record<string, 'green' | 'yellow' | 'red'>> = {
  '  +': 'green',
  '  ~': 'yellow',
  '  -': 'red',
  '  !': 'yellow',
};

/** Prints the summary last, where it is seen after a long list. */
function printPlan(
  { changes, counts, reason, hash }: Extract<RevisionOutcome, { kind: 'planned' }>,
  limit: number,
): void {
  for (const line of describeChanges(changes, limit)) {
    const color = COLORS[line.slice(0, 3)];
    console.log(color === undefined ? line : paint(color, line));
  }
  const isEmpty = changesNothing(counts);
  console.log(paint('bold', isEmpty ? 'Nothing would change.' : summarize(counts)));
  if (isEmpty) return;
  console.log(`Plan ${hash}`);
  if (reason !== null)
    console.log(paint('red', `It would be blocked. ${reason}.\n       → ${confirmation(hash)}`));
}

function confirmation(hash: string): string {
  return `If that is right: ${PROGRAM} sync --confirm ${hash}`;
}

function toJson(result: SyncResult): object {
  const { kind } = result;
  switch (kind) {
    case 'applied':
      return { kind, revision: result.revision.number, counts: result.counts };
    case 'planned':
    case 'blocked': {
      const { reason: blockedReason, hash, counts } = result;
      const plan = kind === 'planned' ? groupedChanges(result.changes) : {};
      return { kind, blockedReason, hash, counts, ...plan };
    }
    default:
      return result;
  }
}
