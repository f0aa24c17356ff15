import { type Config, readConfig } from '../config/config.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { WebhookEntity } from '../webhooks/webhook.entity.js';
import { enableWebhook } from '../webhooks/webhook-state.js';
import { printTable, printWritten, withDatabase } from './context.js';

export async function listWebhooks(): Promise<void> {
  const config = readConfig();
  const webhooks = await withDatabase(config, (dataSource) => readWebhooks(config, dataSource));
  const none = 'There is no webhook: DIRECTORY_WEBHOOKS names the file.';
  printTable(webhooks, webhooks, ['id', 'state', 'origin', 'failure'], none);
}

/** How far the receivers of the settings are. */
export async function readWebhooks({ webhooks }: Config, dataSource: DirectoryDataSource) {
  const states = await dataSource.getRepository(WebhookEntity).find();
  return webhooks.map(({ id, url }) => {
    const found = states.find((each) => each.id === id);
    const { attempts = 0, failedSeconds = 0, failure = null } = found ?? {};
    const state = found === undefined ? 'new' : attempts === 0 ? 'ok' : 'failing';
    // The path of an address can be a secret.
    return { id, origin: new URL(url).origin, state, attempts, failedSeconds, failure };
  });
}

export async function enableReceiver(id: string, { fromNow }: { fromNow?: true }): Promise<void> {
  const config = readConfig();
  await withDatabase(config, (dataSource) => enableWebhook(config, dataSource, id, fromNow === true));
  printWritten(config, { id, enabled: true }, `The webhook ${id} is tried at once.`);
}
