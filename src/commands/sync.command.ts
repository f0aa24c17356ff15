import type { Command } from 'commander';
import { readConfig } from '../config/config.js';
import type { Plan } from '../mirror/plan.js';
import { summarise } from '../mirror/summary.js';
import type { Findings, Outcome, RunOptions } from '../mirror/synchroniser.js';
import { EXIT_FAILED } from '../start/failure.js';

interface SyncOptions {
  dryRun?: true;
  confirm?: string;
  json?: true;
}

export function addSyncCommand(program: Command): void {
  program
    .command('sync')
    .description('bring the mirror up to date with the directory, once')
    .option('--dry-run', 'say what would change, and change nothing')
    .option('--confirm <hash>', 'apply the plan with this hash although it was held')
    .option('--json', 'answer with one JSON object')
    .action(async ({ dryRun, confirm, json }: SyncOptions) => {
      const options: RunOptions = {
        force: true,
        ...(dryRun === undefined ? {} : { dryRun }),
        ...(confirm === undefined ? {} : { confirm }),
      };
      const config = readConfig();
      const [{ withDatabase }, { Database }, { MirrorState }, { Synchroniser }, { openSource }] =
        await Promise.all([
          import('./context.js'),
          import('../database/database.js'),
          import('../mirror/mirror-state.js'),
          import('../mirror/synchroniser.js'),
          import('../sources/open-source.js'),
        ]);
      const outcome = await withDatabase(config, (dataSource) => {
        const state = new MirrorState(new Database(dataSource), dataSource);
        return new Synchroniser(config, dataSource, state).run(openSource(config.directory), options);
      });
      console.log(json === true ? JSON.stringify(toJson(outcome)) : toText(outcome));
      if (outcome.kind === 'failed' || outcome.kind === 'blocked') process.exitCode = EXIT_FAILED;
    });
}

function toText(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'unchanged':
      return 'Nothing has changed.';
    case 'applied':
      return [`Revision ${outcome.revision}: ${summarise(outcome)}`, ...quarantineOf(outcome)].join('\n');
    case 'planned':
      return [
        summarise(outcome),
        ...linesOf(outcome.plan),
        ...quarantineOf(outcome),
        `Plan ${outcome.plan.hash}`,
        ...(outcome.heldBecause === null ? [] : [`It would be held: ${outcome.heldBecause}`]),
      ].join('\n');
    case 'blocked':
      return [
        `Held: ${outcome.reason}.`,
        summarise(outcome),
        `If that is right: npm run directory -- sync --confirm ${outcome.plan.hash}`,
      ].join('\n');
    case 'failed':
      return `Nothing was changed: ${outcome.reason}`;
    case 'stopped':
      return 'Nothing was changed.';
  }
}

function linesOf(plan: Plan): string[] {
  const ids = (sign: string, what: string, entries: readonly { id: string }[]) =>
    entries.map(({ id }) => `  ${sign} ${what} ${id}`);
  const values = (hashed: readonly { value: { id: string } }[]) => hashed.map(({ value }) => value);
  return [
    ...ids('+', 'person', values(plan.createdPeople)),
    ...ids('~', 'person', values(plan.updatedPeople)),
    ...ids('-', 'person', plan.deletedPeople),
    ...ids('+', 'group', values(plan.createdGroups)),
    ...ids('~', 'group', values(plan.updatedGroups)),
    ...ids('-', 'group', plan.deletedGroups),
  ];
}

function quarantineOf({ quarantined }: Findings): string[] {
  return quarantined.map(
    ({ dn, attribute, reason }) => `  ! ${attribute === null ? '' : `${attribute} of `}${dn} ${reason}`,
  );
}

function toJson(outcome: Outcome): object {
  if (!('plan' in outcome)) return outcome;
  const { plan, ...rest } = outcome;
  const ids = (entries: readonly { id: string }[]) => entries.map(({ id }) => id);
  const values = (hashed: readonly { value: { id: string } }[]) => ids(hashed.map(({ value }) => value));
  return {
    ...rest,
    hash: plan.hash,
    people: {
      created: values(plan.createdPeople),
      updated: values(plan.updatedPeople),
      deleted: ids(plan.deletedPeople),
    },
    groups: {
      created: values(plan.createdGroups),
      updated: values(plan.updatedGroups),
      deleted: ids(plan.deletedGroups),
    },
    memberships: plan.memberships.length,
    nestings: plan.nestings.length,
  };
}
