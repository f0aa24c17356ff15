import { setMaxListeners } from 'node:events';
import { Inject, Logger, Module } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AccessLog } from '../access-log/access-log.js';
import { AccessLogModule } from '../access-log/access-log.module.js';
import { ChangeLog, isLost } from '../changes/change-log.js';
import { accessOf, type Change } from '../changes/change.model.js';
import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/identity.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { WebhookTarget } from '../config/webhooks/webhook-file.js';
import { Database } from '../database/database.js';
import type { Viewer } from '../database/visibility/viewer.js';
import { MirrorFollowing } from '../mirror/following.js';
import { MirrorModule } from '../mirror/mirror.module.js';
import { deliver } from './deliver.js';
import { principalOfWebhook, viewerOfWebhook } from './webhook-state.js';
import { NO_FAILURE, POSITION_LOST, WebhookEntity, type WebhookState } from './webhook.entity.js';

/** Milliseconds until the log is read again without a new revision. */
const POLL_MS = 60_000;
/** Milliseconds after which the state of a receiver that fails, or a database that was unavailable, is read again. */
const RETRY_MS = 5000;
/** Seconds between two attempts at most. */
const LONGEST_PAUSE = 600;

/** Delivers the changes that one receiver selects, one after another (docs/adr/0046). Only the leader does. */
class Receiver {
  private readonly logger = new Logger('Webhooks');
  private readonly groups: ReadonlySet<string> | null;
  private readonly principal;
  /** When the next attempt is due if the last one has failed, in milliseconds of `performance.now()`. */
  private retryAt = 0;

  constructor(
    private readonly target: WebhookTarget,
    private readonly viewer: Viewer,
    private readonly log: ChangeLog,
    private readonly database: Database,
    private readonly following: MirrorFollowing,
    private readonly accessLog: AccessLog,
  ) {
    this.groups = target.groups === undefined ? null : new Set(target.groups.map(foldId));
    this.principal = principalOfWebhook(target);
  }

  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { news } = this.log;
      const pause = await this.step(signal).catch((error: unknown) => {
        if (!signal.aborted && !(error instanceof ServiceError)) this.logger.error(error);
        return RETRY_MS;
      });
      await this.log.pause(pause, news);
    }
  }

  /** Delivers what is new, up to the first failure. Returns for how many milliseconds there is nothing to do. */
  private async step(signal: AbortSignal): Promise<number> {
    let state = await this.read();
    const pause = state.attempts === 0 ? 0 : this.retryAt - performance.now();
    // An operator can end it.
    if (pause > 0) return Math.min(pause, RETRY_MS);
    const part = await this.log.readAfter(state.cursor, this.target, this.viewer).catch((error: unknown) => {
      // A restored database has another position, which is tried next.
      if (isLost(error)) return null;
      throw error;
    });
    if (part === null) return this.fail(state, POSITION_LOST);
    for (const { node: change, cursor } of part.edges) {
      if (!this.selects(change)) continue;
      const failure = await deliver(this.target, change, signal);
      // Without an answer, the next leader delivers it again.
      if (signal.aborted) return 0;
      if (failure !== null) return this.fail(state, failure);
      if (change.userId !== null) this.accessLog.note(this.principal, accessOf(1));
      state = await this.moveTo(state, cursor);
    }
    // Also over changes that are not selected, so that the position does not expire.
    await this.moveTo(state, part.end);
    return part.hasMore ? 0 : POLL_MS;
  }

  private async read(): Promise<WebhookState> {
    const { id } = this.target;
    const found = await this.write((manager) => manager.findOneBy(WebhookEntity, { id }));
    if (found !== null) return found;
    const cursor = await this.log.readEnd(this.viewer);
    return this.write((manager) => manager.save(WebhookEntity, { ...NO_FAILURE, id, cursor }));
  }

  /** A group is selected by the id that it has, or that the change takes from it. */
  private selects({ groupId, previousId }: Change): boolean {
    if (this.groups === null) return true;
    if (groupId === null) return false;
    return this.groups.has(foldId(groupId)) || (previousId !== null && this.groups.has(foldId(previousId)));
  }

  private moveTo(state: WebhookState, cursor: string): Promise<WebhookState> {
    if (state.attempts > 0)
      this.logger.log(`The webhook «${state.id}» accepts changes again after ${state.failedSeconds} s`);
    return this.change(state, { ...NO_FAILURE, cursor });
  }

  private async fail(state: WebhookState, failure: string): Promise<number> {
    const { id, attempts } = state;
    const failedSeconds = state.failedSeconds + (attempts === 0 ? 0 : pauseAfter(attempts));
    await this.change(state, { attempts: attempts + 1, failedSeconds, failure });
    this.retryAt = performance.now() + pauseAfter(attempts + 1) * 1000;
    if (attempts === 0) this.logger.warn(`The webhook «${id}» fails, and is tried again: ${failure}`);
    return 0;
  }

  /** Returns the new state. @throws ServiceError CONFLICT if an operator has changed it since it was read */
  private async change(state: WebhookState, changes: Partial<WebhookEntity>): Promise<WebhookState> {
    const { id, cursor, attempts } = state;
    const same = { id, cursor, attempts };
    const { affected } = await this.write((manager) => manager.update(WebhookEntity, same, changes));
    if (affected === 0) throw new ServiceError('CONFLICT', `The webhook «${id}» was enabled`);
    return { ...state, ...changes };
  }

  private write<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result> {
    return this.database.transaction(async (manager) => {
      await this.following.admit(manager);
      return work(manager);
    });
  }
}

/** Seconds until the next attempt: 1, 2, 4 … */
function pauseAfter(attempts: number): number {
  return Math.min(LONGEST_PAUSE, 2 ** (attempts - 1));
}

/** Sends changes from the process that leads the synchronization. Loaded only where there are receivers. */
@Module({ imports: [AccessLogModule, MirrorModule], providers: [ChangeLog] })
export class WebhooksModule {
  constructor(
    @Inject(CONFIG) config: Config,
    log: ChangeLog,
    database: Database,
    accessLog: AccessLog,
    mirror: MirrorFollowing,
  ) {
    mirror.whileLeading(async (signal) => {
      // Each delivery listens to it.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', () => {
        log.wake();
      });
      // A receiver that fails holds up no other one.
      const receivers = config.webhooks.map((target) => {
        const viewer = viewerOfWebhook(target, config);
        return new Receiver(target, viewer, log, database, mirror, accessLog).follow(signal);
      });
      await Promise.all(receivers);
    });
  }
}
