import type { Command } from 'commander';
import { printable } from '../common/printable.js';
import { readConfig } from '../config/config.js';
import type { WebhookEntity } from '../webhooks/webhook.entity.js';
import { addCommand, addExamples, describeRows, printWritten } from './help.js';

export function addWebhookCommands(program: Command): void {
  const webhooks = program.command('webhook').description('manage the receivers of changes');
  const list = ['webhook list', 'Show which receivers fail, and why'] as const;
  const enable = ['webhook enable reports', 'Continue where a receiver stopped'] as const;
  addExamples(webhooks, list, enable);
  addCommand(webhooks, 'list', 'list the receivers of the settings, and how far they are', list).action(
    listWebhooks,
  );
  addCommand(
    webhooks,
    'enable <id>',
    'send changes to a receiver that was disabled, from where it stopped',
    enable,
  )
    .option('--from-now', 'leave out what happened until now: the receiver reads everything afterwards')
    .action(enableWebhook);
}

async function listWebhooks({ json }: { json?: true }): Promise<void> {
  const [{ withDatabase }, { WebhookEntity }] = await Promise.all([
    import('./context.js'),
    import('../webhooks/webhook.entity.js'),
  ]);
  const config = readConfig();
  const states = await withDatabase(config, (dataSource) => dataSource.getRepository(WebhookEntity).find());
  const webhooks = config.webhooks.map(({ id, url }) => {
    const found = states.find((each) => each.id === id);
    const { attempts = 0, failedSeconds = 0, failure = null } = found ?? {};
    // The path of an address can be a secret.
    return { id, origin: new URL(url).origin, state: stateOf(found), attempts, failedSeconds, failure };
  });
  if (json === true) console.log(JSON.stringify(webhooks));
  else if (webhooks.length === 0) console.log('There is no webhook: DIRECTORY_WEBHOOKS names the file.');
  else {
    const rows = webhooks.map(({ id, origin, state, failure }) => [id, state, origin, failure ?? '']);
    for (const line of describeRows([['ID', 'STATE', 'RECEIVER', 'LAST FAILURE'], ...rows]))
      console.log(printable(line));
  }
}

/** `new`: nothing was sent yet. */
function stateOf(state: WebhookEntity | undefined): 'new' | 'disabled' | 'failing' | 'ok' {
  if (state === undefined) return 'new';
  if (state.disabledAt !== null) return 'disabled';
  return state.attempts === 0 ? 'ok' : 'failing';
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
