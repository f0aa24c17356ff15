import type { Command } from 'commander';
import { NotFoundError } from '../common/errors.js';
import { readConfig } from '../config/config.js';
import { addExamples } from './help.js';

export function addWebhookCommands(program: Command): void {
  const webhooks = program.command('webhook').description('manage the receivers of changes');
  const enable = webhooks
    .command('enable')
    .description('send changes to a receiver that was disabled, from where it stopped')
    .argument('<id>', 'the id of the receiver')
    .option('--from-now', 'leave out what happened since: the receiver has read everything')
    .option('--json', 'print one JSON object')
    .action(enableWebhook);
  addExamples(enable, ['webhook enable reports', 'Continue where the receiver stopped']);
  addExamples(webhooks, ['webhook enable reports', 'Continue where a receiver stopped']);
}

async function enableWebhook(id: string, { fromNow, json }: { fromNow?: true; json?: true }): Promise<void> {
  const [{ withDatabase }, { WebhookEntity }] = await Promise.all([
    import('./context.js'),
    import('../webhooks/webhook.entity.js'),
  ]);
  const values = { attempts: 0, failingSince: null, nextAttemptAt: null, disabledAt: null, failure: null };
  const changed = await withDatabase(readConfig(), (dataSource) =>
    dataSource.getRepository(WebhookEntity).update(id, { ...values, ...(fromNow && { cursor: null }) }),
  );
  if (changed.affected === 0) throw new NotFoundError(`No webhook has the id ${id}`, 'id');
  console.log(json === true ? JSON.stringify({ id, enabled: true }) : `The webhook ${id} is enabled.`);
}
