import { Module } from '@nestjs/common';
import { AccessLogModule } from '../access-log/access-log.module.js';
import { ChangeLog } from '../changes/change-log.js';
import { Revisions } from '../database/revisions.js';
import { MirrorModule } from '../mirror/mirror.module.js';
import { MirrorFollowing } from '../mirror/following.js';
import { WebhookSender } from './webhook-sender.js';
import { WebhookStates } from './webhook-states.js';

/** Sends changes from the process that leads the synchronization. Loaded only where there are receivers. */
@Module({ imports: [AccessLogModule, MirrorModule], providers: [ChangeLog, WebhookSender, WebhookStates] })
export class WebhooksModule {
  constructor(sender: WebhookSender, mirror: MirrorFollowing, revisions: Revisions) {
    revisions.onChanged(() => {
      sender.wake();
    });
    mirror.whileLeading((signal) => sender.run(signal));
  }
}
