import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger, Module } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AccessLog } from '../access-log/access-log.js';
import { AccessLogModule } from '../access-log/access-log.module.js';
import { ChangeLog } from '../changes/change-log.js';
import { accessOf, type Change } from '../changes/change.model.js';
import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/identity.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { PROGRAM } from '../config/paths.js';
import type { WebhookTarget } from '../config/webhooks/webhook-file.js';
import { Database } from '../database/database.js';
import { Revisions } from '../database/revisions.js';
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
/** Seconds of failures until a receiver is disabled. */
const LONGEST_FAILING = 3 * 86_400;

/** Stores how far each receiver is. Only the leader writes. */
@Injectable()
class WebhookStates {
  constructor(
    private readonly database: Database,
    private readonly following: MirrorFollowing,
  ) {}

  /** @param begin returns the cursor at which a new receiver begins */
  async read(id: string, begin: () => Promise<string>): Promise<WebhookState> {
    const found = await this.write((manager) => manager.findOneBy(WebhookEntity, { id }));
    if (found !== null) return found;
    const cursor = await begin();
    return this.write((manager) =>
      manager.save(manager.create(WebhookEntity, { ...NO_FAILURE, id, cursor, disabledAt: null })),
    );
  }

  /** Returns the new state; null if another leader or an operator has changed it since it was read. */
  async change(state: WebhookState, changes: Partial<WebhookEntity>): Promise<WebhookState | null> {
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

/** Delivers the changes that one receiver selects, one after another (docs/adr/0046). */
class WebhookRun {
  private readonly logger = new Logger('Webhooks');
  private readonly groups: ReadonlySet<string> | null;
  private readonly principal;
  /** When the last attempt failed in this process, and the state after that. */
  private failed: { readonly at: number; readonly state: WebhookState } | null = null;

  constructor(
    private readonly target: WebhookTarget,
    private readonly viewer: Viewer,
    private readonly log: ChangeLog,
    private readonly states: WebhookStates,
    private readonly accessLog: AccessLog,
  ) {
    this.groups = target.groups === undefined ? null : new Set(target.groups.map(foldId));
    this.principal = principalOfWebhook(target);
  }

  /** Delivers what is new, up to the first failure. Never throws. Returns for how many milliseconds there is nothing to do. */
  async step(signal: AbortSignal): Promise<number> {
    let state: WebhookState | null = null;
    try {
      const begin = () => this.log.readEnd(this.viewer);
      state = await this.states.read(this.target.id, begin);
      const pause = state.disabledAt === null ? this.pauseOf(state) : RETRY_MS;
      // An operator can end it.
      return pause > 0 ? Math.min(pause, RETRY_MS) : await this.advance(state, signal);
    } catch (error) {
      if (!signal.aborted) await this.recover(error, state).catch(() => undefined);
      return RETRY_MS;
    }
  }

  private async advance(begin: WebhookState, signal: AbortSignal): Promise<number> {
    const filter = { kinds: this.target.kinds ?? null };
    const { changes, end, hasMore } = await this.log.readAfter(begin.cursor, PART_SIZE, filter, this.viewer);
    let state = begin;
    for (const { change, cursor } of changes) {
      if (!this.selects(change)) continue;
      const failure = await deliver(this.target, change, signal);
      // Without an answer, the next leader delivers it again.
      if (signal.aborted) return 0;
      if (failure === null && change.userId !== null) this.accessLog.note(this.principal, accessOf(1));
      const next = failure === null ? await this.moveTo(state, cursor) : await this.fail(state, failure);
      if (failure !== null || next === null) return 0;
      state = next;
    }
    // Also over changes that are not selected, so that the position does not expire.
    const isMoved = (await this.moveTo(state, end)) !== null;
    return hasMore || !isMoved ? 0 : POLL_MS;
  }

  /** Milliseconds until the next attempt: 1, 2, 4 … seconds after the last one, unless an operator has changed the state since. */
  private pauseOf({ attempts, failedSeconds }: WebhookState): number {
    const { failed } = this;
    if (failed?.state.attempts !== attempts || failed.state.failedSeconds !== failedSeconds) return 0;
    const seconds = Math.min(LONGEST_PAUSE, 2 ** (attempts - 1));
    return Math.max(0, failed.at + seconds * 1000 - performance.now());
  }

  /** A group is selected by the id that it has, or that the change takes from it. */
  private selects({ groupId, previousId }: Change): boolean {
    if (this.groups === null) return true;
    if (groupId === null) return false;
    return this.groups.has(foldId(groupId)) || (previousId !== null && this.groups.has(foldId(previousId)));
  }

  private async moveTo(state: WebhookState, cursor: string): Promise<WebhookState | null> {
    if (state.cursor === cursor && state.attempts === 0) return state;
    const next = await this.states.change(state, { ...NO_FAILURE, cursor });
    this.failed = null;
    if (next !== null && state.attempts > 0)
      this.logger.log(`The webhook «${state.id}» accepts changes again after ${state.failedSeconds} s`);
    return next;
  }

  private async fail(state: WebhookState, failure: string): Promise<WebhookState | null> {
    const at = performance.now();
    const failedSeconds = state.failedSeconds + Math.round((at - (this.failed?.at ?? at)) / 1000);
    const disabledAt = failedSeconds > LONGEST_FAILING ? new Date() : null;
    const changes = { attempts: state.attempts + 1, failedSeconds, failure, disabledAt };
    const next = await this.states.change(state, changes);
    if (next === null) return null;
    this.failed = { at, state: next };
    if (state.attempts === 0)
      this.logger.warn(
        `The webhook «${state.id}» does not accept a change: ${failure}. It is tried again for three days`,
      );
    if (disabledAt !== null)
      this.logger.error(
        `The webhook «${state.id}» is disabled after three days of failures: ${failure}. To continue where it stopped: ${PROGRAM} webhook enable ${state.id}`,
      );
    return next;
  }

  private async recover(error: unknown, state: WebhookState | null): Promise<void> {
    const { id } = this.target;
    const code = error instanceof ServiceError ? error.code : null;
    if (code === null)
      this.logger.error(`The webhook «${id}» waits: ${error instanceof Error ? error.message : ''}`);
    if (state === null || (code !== 'INVALID_CURSOR' && code !== 'CHANGE_CURSOR_EXPIRED')) return;
    // A restored database has another position, which is tried next.
    await this.states.change(state, { disabledAt: new Date(), failure: POSITION_LOST });
    this.logger.error(
      `The webhook «${id}» is disabled: ${POSITION_LOST}. To begin at now: ${PROGRAM} webhook enable ${id} --from-now, and then let it read everything`,
    );
  }
}

/** Sends changes from the process that leads the synchronization. Loaded only where there are receivers. */
@Module({ imports: [AccessLogModule, MirrorModule], providers: [ChangeLog, WebhookStates] })
export class WebhooksModule {
  /** Aborted by a revision, and by the end of the leadership: they end pauses. */
  private news = newsSignal();

  constructor(
    @Inject(CONFIG) config: Config,
    log: ChangeLog,
    states: WebhookStates,
    accessLog: AccessLog,
    mirror: MirrorFollowing,
    revisions: Revisions,
  ) {
    const wake = () => {
      this.news.abort();
      this.news = newsSignal();
    };
    revisions.onChanged(wake);
    mirror.whileLeading(async (signal) => {
      // Each delivery listens to it.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', wake);
      const runs = config.webhooks.map((target) => {
        const run = new WebhookRun(target, viewerOfWebhook(target, config), log, states, accessLog);
        return this.send(run, signal);
      });
      await Promise.all(runs);
    });
  }

  /** Until the signal is aborted. A receiver that fails holds up no other one. */
  private async send(run: WebhookRun, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Before the log is read, so that a revision that comes meanwhile ends the pause.
      const { signal: news } = this.news;
      const pause = await run.step(signal);
      await sleep(pause, undefined, { signal: news }).catch(() => undefined);
    }
  }
}

/** Each receiver listens to it. */
function newsSignal(): AbortController {
  const news = new AbortController();
  setMaxListeners(0, news.signal);
  return news;
}
