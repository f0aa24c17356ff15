import { readConfig } from '../config/config.js';
import { WebhookEntity } from '../webhooks/webhook.entity.js';
import { enableWebhook } from '../webhooks/webhook-state.js';
import { printTable, printWritten, withDatabase } from './context.js';

export async function listWebhooks(): Promise<void> {
  const config = readConfig();
  const states = await withDatabase(config, (dataSource) => dataSource.getRepository(WebhookEntity).find());
  const webhooks = config.webhooks.map(({ id, url }) => {
    const found = states.find((each) => each.id === id);
    const { attempts = 0, failedSeconds = 0, failure = null } = found ?? {};
    // The path of an address can be a secret.
    return { id, origin: new URL(url).origin, state: stateOf(found), attempts, failedSeconds, failure };
  });
  const rows = webhooks.map(({ id, origin, state, failure }) => [id, state, origin, failure ?? '']);
  const head = ['ID', 'STATE', 'RECEIVER', 'LAST FAILURE'];
  printTable(webhooks, [head, ...rows], 'There is no webhook: DIRECTORY_WEBHOOKS names the file.');
}

/** `new`: nothing was sent yet. */
function stateOf(state: WebhookEntity | undefined): 'new' | 'disabled' | 'failing' | 'ok' {
  if (state === undefined) return 'new';
  if (state.disabledAt !== null) return 'disabled';
  return state.attempts === 0 ? 'ok' : 'failing';
}

export async function enableReceiver(id: string, { fromNow }: { fromNow?: true }): Promise<void> {
  const config = readConfig();
  await withDatabase(config, (dataSource) => enableWebhook(config, dataSource, id, fromNow === true));
  printWritten(config, { id, enabled: true }, (where) => `The webhook ${id} is enabled ${where}.`);
}
