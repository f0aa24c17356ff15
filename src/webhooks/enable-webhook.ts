import { ChangeLog } from '../changes/change-log.js';
import { NotFoundError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { Database } from '../database/database.js';
import { Revisions } from '../database/revisions.js';
import { WebhookEntity } from './webhook.entity.js';
import { NO_FAILURE } from './webhook-states.js';
import { viewerOfWebhook } from './webhook-viewer.js';

/**
 * Sends changes again to a receiver that was disabled. A running service notices it within seconds.
 * @param fromNow whether it continues at the present end of the log
 * @throws NotFoundError
 */
export async function enableWebhook(
  config: Config,
  dataSource: DirectoryDataSource,
  id: string,
  fromNow: boolean,
): Promise<void> {
  const position = fromNow ? { cursor: await readEnd(config, dataSource, id) } : {};
  const states = dataSource.getRepository(WebhookEntity);
  const { affected } = await states.update(id, { ...NO_FAILURE, disabledAt: null, ...position });
  if (affected === 0) throw unknown(id);
}

async function readEnd(config: Config, dataSource: DirectoryDataSource, id: string): Promise<string> {
  const target = config.webhooks.find((each) => each.id === id);
  if (target === undefined) throw unknown(id);
  const log = new ChangeLog(config, new Database(dataSource, new Revisions(dataSource, config)));
  return (await log.readEnd(viewerOfWebhook(target, config))).cursor;
}

function unknown(id: string): NotFoundError {
  return new NotFoundError(`There is no webhook «${id}»`, 'id');
}
