import { AccessLogEntity } from './access-log/access-log.entity.js';
import {
  ServiceAccountSecretEntity,
  ServiceAccountEntity,
} from './service-accounts/service-account.entity.js';
import { WebhookEntity } from './webhooks/webhook.entity.js';

/** The entities of the service's own tables. The mirror has none: its tables are read and written by SQL alone. */
export const ENTITIES = [ServiceAccountEntity, ServiceAccountSecretEntity, AccessLogEntity, WebhookEntity];
