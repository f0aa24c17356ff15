import type { DataSource } from 'typeorm';
import { type Finding, ok, problem, warning } from '../common/finding.js';
import type { Config } from '../config/config.js';
import { POSITION_LOST, WebhookEntity } from '../webhooks/webhook.entity.js';

/** Reports the receivers of changes that fail or are disabled. */
export async function checkWebhooks({ webhooks }: Config, dataSource: DataSource): Promise<Finding[]> {
  const states = await dataSource.getRepository(WebhookEntity).find();
  return webhooks.map(({ id }) => {
    const what = `webhook ${id}`;
    const state = states.find((each) => each.id === id);
    const reason = state?.failure ?? '';
    if (state === undefined) return ok(what, 'nothing was sent yet');
    if (state.disabledAt !== null) {
      const more = reason === POSITION_LOST ? ' --from-now, and then let it read everything' : '';
      return problem(what, `disabled: ${reason}. To enable it: ./directory webhook enable ${id}${more}`);
    }
    if (state.failingSince === null) return ok(what);
    return warning(what, `it has failed since ${state.failingSince.toISOString()}: ${reason}`);
  });
}
