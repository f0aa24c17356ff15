import { type Command, InvalidArgumentError, Option } from 'commander';
import { readRecognizedConfig } from './recognized-config.js';
import { changesNothing } from '../mirror/revision/revision.js';
import { summarize } from '../mirror/synchronizer.js';
import { EXIT_FAILED } from '../failure.js';
import { printable } from '../common/printable.js';
import { addExamples, printWritten } from './help.js';
import { describeChanges, describeLeftOut, groupedChanges } from './changes-text.js';
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
  const command = program
    .command('sync')
    .description('run one synchronization of the mirror with the directory')
    .option('--dry-run', 'print what would change, and change nothing')
    .addOption(
      new Option('--confirm <hash>', 'apply the plan with this hash, which the deletion guard has blocked')
        .argParser(parseHash)
        .conflicts('dryRun'),
    )
    .option('--new', 'create the embedded database if no service has used it')
    .option('--all', `print all changes, not only the first ${SHOWN} of a kind`)
    .option('--json', 'print one JSON object with all changes')
    .action(async ({ dryRun, confirm, all, json, new: creates }: SyncOptions) => {
      const config = await readRecognizedConfig();
      const { runSync } = await import('./run-sync.js');
      const result = await runSync(config, {
        ...(dryRun === undefined ? {} : { dryRun }),
        ...(confirm === undefined ? {} : { confirm }),
        ...(creates === undefined ? {} : { creates }),
      });
      const text = toText(result, all === true ? Infinity : SHOWN);
      if (result.kind === 'applied')
        printWritten(config, json === true, toJson(result), (where) => `${text}\nIt is ${where}.`);
      else console.log(json === true ? JSON.stringify(toJson(result)) : text);
      // A run that a signal has stopped has the exit code of the signal.
      if (result.kind !== 'stopped')
        process.exitCode = ['failed', 'blocked', 'refused'].includes(result.kind) ? EXIT_FAILED : 0;
    });
  addExamples(
    command,
    ['sync --dry-run --all', 'Print everything that a run would change'],
    ['sync --confirm HASH', 'Apply a blocked plan'],
    ["sync --dry-run --json | jq '.users.deleted[].id'", 'Print who would be deleted'],
  );
}

function parseHash(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text))
    throw new InvalidArgumentError('It is the hash of a plan: 64 digits and letters.');
  return text.toLowerCase();
}

function toText(result: SyncResult, limit: number): string {
  switch (result.kind) {
    case 'unchanged':
    case 'held':
      return 'Nothing has changed.';
    case 'applied':
      return `Revision ${result.revision.number}: ${summarize(result.counts)}`;
    case 'planned': {
      const { changes, counts, reason, hash } = result;
      if (changesNothing(counts))
        return ['Nothing would change.', ...describeLeftOut(changes, limit)].join('\n');
      return [
        summarize(counts),
        ...describeChanges(changes, limit),
        ...describeLeftOut(changes, limit),
        `Plan ${hash}`,
        ...(reason === null ? [] : [`It would be blocked: ${reason}.`, confirmation(hash)]),
      ].join('\n');
    }
    case 'blocked':
      return [
        summarize(result.counts),
        `Plan ${result.hash}`,
        `Blocked: ${result.reason}.`,
        'To see the changes: ./directory sync --dry-run --all',
        confirmation(result.hash),
      ].join('\n');
    case 'refused':
      return `Nothing was changed: ${result.reason}`;
    case 'failed':
      return `Nothing was changed: ${printable(result.reason)}\n./directory check finds the cause`;
    case 'stopped':
      return 'Nothing was changed: the run was stopped';
  }
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
      return {
        kind,
        blockedReason,
        hash,
        counts,
        ...groupedChanges(changes),
        quarantined: changes.quarantined,
        dangling: changes.dangling,
      };
    }
    case 'blocked': {
      const { kind, reason: blockedReason, hash, counts } = result;
      return { kind, blockedReason, hash, counts };
    }
    default:
      return result;
  }
}
