import { type Command, InvalidArgumentError, Option } from 'commander';
import { readRecognizedConfig } from './recognized-config.js';
import { isEmpty } from '../mirror/plan/plan.js';
import { summarize, summarizeChanges, summarizeLeftOut } from '../mirror/sync/summary.js';
import type { Findings, SyncOutcome } from '../mirror/sync/outcome.js';
import { EXIT_FAILED } from '../start/failure.js';
import type { PlanReport } from './plan-report.js';
import { printable } from '../common/printable.js';
import { addExamples, printWritten } from './help.js';
import { describePlan, describeQuarantined } from './plan-text.js';
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
      if (result.outcome.kind === 'applied')
        printWritten(config, json === true, toJson(result), (where) => `${text}\nIt is ${where}.`);
      else console.log(json === true ? JSON.stringify(toJson(result)) : text);
      const { kind } = result.outcome;
      // A run that a signal has stopped has the exit code of the signal.
      if (kind !== 'stopped') process.exitCode = ['failed', 'blocked'].includes(kind) ? EXIT_FAILED : 0;
    });
  addExamples(
    command,
    ['sync --dry-run --all', 'Print everything that a run would change'],
    ['sync --confirm HASH', 'Apply a blocked plan'],
    ["sync --dry-run --json | jq '.people.deleted[].id'", 'Print who would be deleted'],
  );
}

function parseHash(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text))
    throw new InvalidArgumentError('It is the hash of a plan: 64 digits and letters.');
  return text.toLowerCase();
}

function toText({ outcome, report }: SyncResult, limit: number): string {
  switch (outcome.kind) {
    case 'unchanged':
      return 'Nothing has changed.';
    case 'applied':
      return [
        `Revision ${outcome.revision}: ${summarize(outcome)}`,
        ...describeQuarantined(outcome.quarantined, limit),
      ].join('\n');
    case 'planned':
      if (isEmpty(outcome.plan))
        return ['Nothing would change.', ...describeLeftOut(outcome, limit)].join('\n');
      return [...describeFindings(outcome, report, limit), ...describeDecision(outcome)].join('\n');
    case 'blocked':
      return [
        ...describeFindings(outcome, report, limit),
        `Blocked: ${outcome.reason}.`,
        confirmation(outcome),
      ].join('\n');
    case 'failed':
      return [
        `Nothing was changed: ${printable(outcome.reason)}`,
        ...(outcome.isFinal ? [] : ['./directory check finds the cause']),
      ].join('\n');
    case 'stopped':
      return 'Nothing was changed: the run was stopped';
  }
}

function describeFindings(findings: Findings, report: PlanReport | null, limit: number): string[] {
  return [
    summarizeChanges(findings.summary.counts),
    ...(report === null ? [] : describePlan(report, limit)),
    ...describeLeftOut(findings, limit),
    `Plan ${String(findings.hash)}`,
  ];
}

function describeLeftOut(findings: Findings, limit: number): string[] {
  return [`Left out: ${summarizeLeftOut(findings)}`, ...describeQuarantined(findings.quarantined, limit)];
}

function describeDecision(outcome: Extract<SyncOutcome, { kind: 'planned' }>): string[] {
  const { heldBecause } = outcome;
  return heldBecause === null ? [] : [`It would be blocked: ${heldBecause}.`, confirmation(outcome)];
}

function confirmation({ hash }: Findings): string {
  return `If that is right: ./directory sync --confirm ${String(hash)}`;
}

function toJson({ outcome, report }: SyncResult): object {
  if (!('summary' in outcome)) return outcome;
  const { kind, summary, hash, quarantined, skipped } = outcome;
  return {
    kind,
    ...(kind === 'applied' ? { revision: outcome.revision } : {}),
    ...(kind === 'planned' ? { heldBecause: outcome.heldBecause } : {}),
    ...(kind === 'blocked' ? { heldBecause: outcome.reason } : {}),
    hash,
    counts: summary.counts,
    ...report,
    quarantined,
    skipped,
  };
}
