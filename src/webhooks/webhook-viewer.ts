import { viewerOf } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import type { Config } from '../config/config.js';
import type { WebhookTarget } from '../config/webhooks/webhook-file.js';
import type { Viewer } from '../database/visibility/viewer.js';

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
