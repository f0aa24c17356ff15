import { constants } from 'node:os';
import { styleText } from 'node:util';
import { printable } from '../common/printable.js';
import type { Config } from '../config/config.js';
import { PROGRAM } from '../config/paths.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { Revisions } from '../database/revisions.js';
import { databaseError } from '../database/statements/database-error.js';
import { AS_JSON, EXIT_FAILED, printErrors } from '../process.js';
import { changesNothing, type RevisionOutcome } from '../mirror/revision/write-revision.js';
import { Session } from '../mirror/leadership.js';
import { isOfDirectory, type RunOptions, summarize, Synchronizer } from '../mirror/synchronizer.js';
import { openDirectory } from '../sources/ldap/ldap-servers.js';
import { describeChanges, groupedChanges } from './changes-text.js';
import { entriesRead, printWritten, readRecognizedConfig, withDatabase, withProgress } from './context.js';

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

type Unapplied = Exclude<SyncResult, { kind: 'applied' }>;

/** Compares every entry of the directory with the mirror once. */
export async function sync({ all, new: isNew, dryRun, confirm }: SyncOptions): Promise<void> {
  const config = await readRecognizedConfig();
  const result = await withDatabase(
    config,
    (dataSource) => runOnce(config, dataSource, { dryRun, confirm }),
    // A dry run before the first start compares the directory with an empty database.
    { creates: isNew ?? dryRun },
  );
  if (result.kind === 'applied') {
    const { revision, kind, counts } = result;
    const text = `Revision ${revision.number}: ${summarize(counts)}`;
    printWritten(config, { kind, revision: revision.number, counts }, text);
  } else if (AS_JSON) console.log(JSON.stringify(toJson(result)));
  else printResult(result, all === true ? Infinity : SHOWN);
  // A run that a signal has stopped has the exit code of the signal.
  if (['failed', 'blocked', 'refused'].includes(result.kind)) process.exitCode = EXIT_FAILED;
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

function printResult(result: Unapplied, limit: number): void {
  const { kind } = result;
  if (kind === 'planned') printPlan(result, limit);
  else if (kind === 'unchanged' || kind === 'held') console.log('Nothing has changed.');
  else if (kind === 'blocked') {
    console.log(`${summarize(result.counts)}\nPlan ${result.hash}`);
    printErrors(
      [`The plan is blocked. ${result.reason}`],
      `To see the changes: ${PROGRAM} sync --dry-run --all\n${confirmation(result.hash)}`,
    );
  } else
    printErrors(
      [`Nothing was changed. ${kind === 'stopped' ? 'The run was stopped' : printable(result.reason)}`],
      kind === 'failed' ? `To find the cause: ${PROGRAM} check` : undefined,
    );
}

const COLORS = { '+': 'green', '-': 'red', '~': 'yellow', '!': 'yellow' } as const;

/** Prints the summary last, where it is seen after a long list. */
function printPlan(
  { changes, counts, reason, hash }: Extract<Unapplied, { kind: 'planned' }>,
  limit: number,
): void {
  for (const { title, lines } of describeChanges(changes, limit)) {
    console.log(styleText('bold', title));
    for (const [sign, text] of lines) console.log(styleText(COLORS[sign], `  ${sign} ${text}`));
  }
  const isEmpty = changesNothing(counts);
  console.log(styleText('bold', isEmpty ? 'Nothing would change.' : summarize(counts)));
  if (isEmpty) return;
  console.log(`Plan ${hash}`);
  if (reason !== null)
    console.log(styleText('red', `It would be blocked. ${reason}.\n       → ${confirmation(hash)}`));
}

function confirmation(hash: string): string {
  return `If that is right: ${PROGRAM} sync --confirm ${hash}`;
}

function toJson(result: Unapplied): object {
  if (!('hash' in result)) return result;
  const { kind, reason: blockedReason, hash, counts } = result;
  return { kind, blockedReason, hash, counts, ...(kind === 'planned' && groupedChanges(result.changes)) };
}
