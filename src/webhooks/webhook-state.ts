import { viewerOf } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { ChangeLog } from '../changes/change-log.js';
import { NotFoundError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import type { WebhookTarget } from '../config/webhooks/webhook-file.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { Database } from '../database/database.js';
import { Revisions } from '../database/revisions.js';
import type { Viewer } from '../database/visibility/viewer.js';
import { NO_FAILURE, WebhookEntity } from './webhook.entity.js';

/** A receiver has scopes and no user. */
export function principalOfWebhook({ id, scopes }: WebhookTarget): Principal {
  const name = `webhook:${id}`;
  return Object.freeze({
    kind: 'SERVICE_ACCOUNT_TOKEN',
    countedAs: name,
    scopes: new Set(scopes),
    clientId: name,
    subject: null,
    serviceAccountId: null,
    expiresAt: null,
  });
}

export function viewerOfWebhook(target: WebhookTarget, { directory }: Pick<Config, 'directory'>): Viewer {
  return viewerOf(principalOfWebhook(target), directory.visibility.bypass);
}

/**
 * Tries a receiver that fails at once. A running service notices it within seconds.
 * @param fromNow whether it continues at the present end of the log
 * @throws NotFoundError
 */
export async function enableWebhook(
  config: Config,
  dataSource: DirectoryDataSource,
  id: string,
  fromNow: boolean,
): Promise<void> {
  const target = config.webhooks.find((each) => each.id === id);
  const log = new ChangeLog(new Database(dataSource, new Revisions(dataSource, config)));
  const end = target && fromNow ? { cursor: await log.readEnd(viewerOfWebhook(target, config)) } : {};
  const webhooks = dataSource.getRepository(WebhookEntity);
  const { affected } = target ? await webhooks.update(id, { ...NO_FAILURE, ...end }) : { affected: 0 };
  if (affected === 0) throw new NotFoundError(`There is no webhook «${id}»`, 'id');
}
