import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { AccessLog } from '../access-log/access-log.js';
import { ChangeLog } from '../changes/change-log.js';
import { withEither } from '../common/with-either.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { WebhookTarget } from '../config/webhooks/webhook-file.js';
import { WebhookRun } from './webhook-run.js';
import { WebhookStates } from './webhook-states.js';
import { principalOfWebhook, viewerOfWebhook } from './webhook-viewer.js';

/** Sends changes to the receivers of the file of webhooks (docs/adr/0046). */
@Injectable()
export class WebhookSender {
  /** Aborted and replaced with each revision. */
  private news = new AbortController();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly log: ChangeLog,
    private readonly states: WebhookStates,
    private readonly accessLog: AccessLog,
  ) {}

  wake(): void {
    const { news } = this;
    this.news = new AbortController();
    news.abort();
  }

  /** Sends until the signal is aborted. A receiver that fails holds up no other one. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    // A process that follows the directory and serves no requests writes the access log only here.
    const endWriting = this.accessLog.startWriting();
    await Promise.all(this.config.webhooks.map((target) => this.runTarget(target, signal)));
    await endWriting();
  }

  private async runTarget(target: WebhookTarget, signal: AbortSignal): Promise<void> {
    const { log, states, accessLog } = this;
    const viewer = viewerOfWebhook(target, this.config);
    const run = new WebhookRun(target, principalOfWebhook(target), viewer, { log, states, accessLog });
    while (!signal.aborted) {
      // Before the log is read, so that a revision that comes meanwhile ends the pause.
      const { signal: news } = this.news;
      const { milliseconds, endsWithNews } = await run.step(signal);
      if (milliseconds === 0) continue;
      await withEither(endsWithNews ? [signal, news] : [signal], (ending) =>
        sleep(milliseconds, undefined, { signal: ending }).catch(() => undefined),
      );
    }
  }
}
