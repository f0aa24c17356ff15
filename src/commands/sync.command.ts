import { type Command, InvalidArgumentError, Option } from 'commander';
import { printable } from '../common/printable.js';
import { EXIT_FAILED, printErrors } from '../failure.js';
import { changesNothing, type RevisionOutcome } from '../mirror/revision/revision.js';
import { summarize } from '../mirror/synchronizer.js';
import { describeChanges, describeLeftOut, groupedChanges } from './changes-text.js';
import { addCommand, paint, printWritten } from './help.js';
import { readRecognizedConfig } from './recognized-config.js';
import type { SyncResult } from './run-sync.js';

const SHOWN = 20;

interface SyncOptions {
  dryRun?: true;
  confirm?: string;
  all?: true;
  new?: true;
  json?: true;
}

export function addSyncCommand(program: Command): void {
  addCommand(
    program,
    'sync',
    'run one synchronization of the mirror with the directory',
    ['sync --dry-run --all', 'Print everything that a run would change'],
    ['sync --confirm HASH', 'Apply a blocked plan'],
    ["sync --dry-run --json | jq '.users.deleted[].id'", 'Print who would be deleted'],
  )
    .option('--dry-run', 'print what would change, and change nothing')
    .addOption(
      new Option('--confirm <hash>', 'apply the plan with this hash, which the deletion guard has blocked')
        .argParser(parseHash)
        .conflicts('dryRun'),
    )
    .option('--new', 'create the embedded database if no service has used it')
    .option('--all', `print all changes, not only the first ${SHOWN} of a kind`)
    .action(async ({ all, json, new: creates, ...options }: SyncOptions) => {
      const config = await readRecognizedConfig();
      const { runSync } = await import('./run-sync.js');
      const result = await runSync(config, { ...options, creates: creates === true });
      if (result.kind === 'applied') {
        const text = `Revision ${result.revision.number}: ${summarize(result.counts)}`;
        printWritten(config, json === true, toJson(result), (where) => `${text}\nIt is ${where}.`);
      } else if (json === true) console.log(JSON.stringify(toJson(result)));
      else printResult(result, all === true ? Infinity : SHOWN);
      // A run that a signal has stopped has the exit code of the signal.
      if (result.kind !== 'stopped')
        process.exitCode = ['failed', 'blocked', 'refused'].includes(result.kind) ? EXIT_FAILED : 0;
    });
}

function parseHash(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text))
    throw new InvalidArgumentError('It is the hash of a plan: 64 digits and letters.');
  return text.toLowerCase();
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
        `To see the changes: ./directory sync --dry-run --all\n${confirmation(result.hash)}`,
      );
      break;
    case 'refused':
      printErrors([`Nothing was changed. ${result.reason}`]);
      break;
    case 'failed':
      printErrors(
        [`Nothing was changed. ${printable(result.reason)}`],
        'To find the cause: ./directory check',
      );
      break;
    case 'stopped':
      printErrors(['Nothing was changed: the run was stopped']);
  }
}

const COLORS: Readonly<Record<string, 'green' | 'yellow' | 'red'>> = {
  '+': 'green',
  '~': 'yellow',
  '-': 'red',
  '!': 'yellow',
};

/** Prints the summary last, where it is seen after a long list. */
function printPlan(
  { changes, counts, reason, hash }: Extract<RevisionOutcome, { kind: 'planned' }>,
  limit: number,
): void {
  const isEmpty = changesNothing(counts);
  for (const line of [...describeChanges(changes, limit), ...describeLeftOut(changes, limit)]) {
    const color = line.startsWith('  ') ? COLORS[line.charAt(2)] : undefined;
    console.log(color === undefined ? line : paint(color, line));
  }
  console.log(paint('bold', isEmpty ? 'Nothing would change.' : summarize(counts)));
  if (isEmpty) return;
  console.log(`Plan ${hash}`);
  if (reason !== null)
    console.log(paint('red', `It would be blocked. ${reason}.\n       → ${confirmation(hash)}`));
}

function confirmation(hash: string): string {
  return `If that is right: ./directory sync --confirm ${hash}`;
}

function toJson(result: SyncResult): object {
  switch (result.kind) {
    case 'applied':
      return { kind: result.kind, revision: result.revision.number, counts: result.counts };
    case 'planned': {
      const { kind, reason: blockedReason, hash, counts, changes } = result;
      const { quarantined, dangling } = changes;
      return { kind, blockedReason, hash, counts, ...groupedChanges(changes), quarantined, dangling };
    }
    case 'blocked': {
      const { kind, reason: blockedReason, hash, counts } = result;
      return { kind, blockedReason, hash, counts };
    }
    default:
      return result;
  }
}
