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
import { PROGRAM } from '../config/paths.js';
import type { WebhookTarget } from '../config/webhooks/webhook-file.js';
import { Database } from '../database/database.js';
import type { Viewer } from '../database/visibility/viewer.js';
import { MirrorFollowing } from '../mirror/following.js';
import { MirrorModule } from '../mirror/mirror.module.js';
import { deliver } from './deliver.js';
import { principalOfWebhook, viewerOfWebhook } from './webhook-state.js';
import { NO_FAILURE, POSITION_LOST, WebhookEntity, type WebhookState } from './webhook.entity.js';

/** Changes that one statement reads. */
const PART_SIZE = 100;
/** Milliseconds until the log is read again without a new revision. */
const POLL_MS = 60_000;
/** Milliseconds after which the state of a receiver that fails or is disabled, or a database that was unavailable, is read again. */
const RETRY_MS = 5000;
/** Seconds between two attempts at most. */
const LONGEST_PAUSE = 600;
/** Seconds of pauses between failures until a receiver is disabled. */
const LONGEST_FAILING = 3 * 86_400;

/** Delivers the changes that one receiver selects, one after another (docs/adr/0046). Only the leader does. */
class Receiver {
  private readonly logger = new Logger('Webhooks');
  private readonly groups: ReadonlySet<string> | null;
  private readonly principal;
  /** When the next attempt is due, in milliseconds of `performance.now()`; null if none has failed in this process. */
  private retryAt: number | null = null;

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

  /** Until the signal is aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { news } = this.log;
      await this.log.pause(await this.step(signal), news);
    }
  }

  /** Delivers what is new, up to the first failure. Never throws. Returns for how many milliseconds there is nothing to do. */
  private async step(signal: AbortSignal): Promise<number> {
    let state: WebhookState | null = null;
    try {
      state = await this.read();
      if (state.disabledAt !== null) return RETRY_MS;
      const pause = state.attempts === 0 ? 0 : (this.retryAt ?? 0) - performance.now();
      // An operator can end it.
      return pause > 0 ? Math.min(pause, RETRY_MS) : await this.advance(state, signal);
    } catch (error) {
      if (!signal.aborted) await this.recover(error, state).catch(() => undefined);
      return RETRY_MS;
    }
  }

  private async read(): Promise<WebhookState> {
    const { id } = this.target;
    const found = await this.write((manager) => manager.findOneBy(WebhookEntity, { id }));
    if (found !== null) return found;
    const cursor = await this.log.readEnd(this.viewer);
    return this.write((manager) =>
      manager.save(manager.create(WebhookEntity, { ...NO_FAILURE, id, cursor })),
    );
  }

  private async advance(begin: WebhookState, signal: AbortSignal): Promise<number> {
    const filter = { kinds: this.target.kinds ?? null };
    const { edges, end, hasMore } = await this.log.readAfter(begin.cursor, PART_SIZE, filter, this.viewer);
    let state = begin;
    for (const { node: change, cursor } of edges) {
      if (!this.selects(change)) continue;
      const failure = await deliver(this.target, change, signal);
      // Without an answer, the next leader delivers it again.
      if (signal.aborted) return 0;
      if (failure !== null) {
        await this.fail(state, failure);
        return 0;
      }
      if (change.userId !== null) this.accessLog.note(this.principal, accessOf(1));
      const next = await this.moveTo(state, cursor);
      if (next === null) return 0;
      state = next;
    }
    // Also over changes that are not selected, so that the position does not expire.
    const isMoved = (await this.moveTo(state, end)) !== null;
    return hasMore || !isMoved ? 0 : POLL_MS;
  }

  /** A group is selected by the id that it has, or that the change takes from it. */
  private selects({ groupId, previousId }: Change): boolean {
    if (this.groups === null) return true;
    if (groupId === null) return false;
    return this.groups.has(foldId(groupId)) || (previousId !== null && this.groups.has(foldId(previousId)));
  }

  private async moveTo(state: WebhookState, cursor: string): Promise<WebhookState | null> {
    if (state.cursor === cursor && state.attempts === 0) return state;
    const next = await this.change(state, { ...NO_FAILURE, cursor });
    this.retryAt = null;
    if (next !== null && state.attempts > 0)
      this.logger.log(`The webhook «${state.id}» accepts changes again after ${state.failedSeconds} s`);
    return next;
  }

  private async fail(state: WebhookState, failure: string): Promise<void> {
    const { id, attempts } = state;
    // The time before the first attempt of a process is not known.
    const failedSeconds = state.failedSeconds + (this.retryAt === null ? 0 : pauseAfter(attempts));
    const disabledAt = failedSeconds > LONGEST_FAILING ? new Date() : null;
    const next = await this.change(state, { attempts: attempts + 1, failedSeconds, failure, disabledAt });
    if (next === null) return;
    this.retryAt = performance.now() + pauseAfter(next.attempts) * 1000;
    if (attempts === 0)
      this.logger.warn(
        `The webhook «${id}» does not accept a change: ${failure}. It is tried again for three days`,
      );
    if (disabledAt !== null)
      this.logger.error(
        `The webhook «${id}» is disabled after three days of failures: ${failure}. To continue where it stopped: ${PROGRAM} webhook enable ${id}`,
      );
  }

  private async recover(error: unknown, state: WebhookState | null): Promise<void> {
    const { id } = this.target;
    if (!(error instanceof ServiceError))
      this.logger.error(`The webhook «${id}» waits: ${error instanceof Error ? error.message : ''}`);
    if (state === null || !isLost(error)) return;
    // A restored database has another position, which is tried next.
    await this.change(state, { disabledAt: new Date(), failure: POSITION_LOST });
    this.logger.error(
      `The webhook «${id}» is disabled: ${POSITION_LOST}. To begin at now: ${PROGRAM} webhook enable ${id} --from-now, and then let it read everything`,
    );
  }

  /** Returns the new state; null if another leader or an operator has changed it since it was read. */
  private async change(state: WebhookState, changes: Partial<WebhookEntity>): Promise<WebhookState | null> {
    const { id, cursor, attempts, failedSeconds } = state;
    const same = { id, cursor, attempts, failedSeconds };
    const { affected } = await this.write((manager) => manager.update(WebhookEntity, same, changes));
    return affected === 0 ? null : { ...state, ...changes };
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
