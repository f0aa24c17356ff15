import type { Command } from 'commander';
import { readConfig } from '../config/config.js';
import { addExamples, printWritten } from './help.js';

export function addWebhookCommands(program: Command): void {
  const webhooks = program.command('webhook').description('manage the receivers of changes');
  const enable = webhooks
    .command('enable')
    .description('send changes to a receiver that was disabled, from where it stopped')
    .argument('<id>', 'the id of the receiver')
    .option('--from-now', 'leave out what happened until now: the receiver reads everything afterwards')
    .option('--json', 'print one JSON object')
    .action(enableWebhook);
  addExamples(enable, ['webhook enable reports', 'Continue where the receiver stopped']);
  addExamples(webhooks, ['webhook enable reports', 'Continue where a receiver stopped']);
}

async function enableWebhook(id: string, { fromNow, json }: { fromNow?: true; json?: true }): Promise<void> {
  const [{ withDatabase }, { enableWebhook: enable }] = await Promise.all([
    import('./context.js'),
    import('../webhooks/webhook-state.js'),
  ]);
  const config = readConfig();
  await withDatabase(config, (dataSource) => enable(config, dataSource, id, fromNow === true));
  printWritten(
    config,
    json === true,
    { id, enabled: true },
    (where) => `The webhook ${id} is enabled ${where}.`,
  );
}
