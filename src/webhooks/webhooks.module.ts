import { setMaxListeners } from 'node:events';
import { Inject, Logger, Module } from '@nestjs/common';
import { AccessLog } from '../access-log/access-log.js';
import { AccessLogModule } from '../access-log/access-log.module.js';
import type { PersonalDataAccess } from '../access-log/personal-data.decorator.js';
import { ChangeLog } from '../changes/change-log.js';
import type { Change } from '../changes/change.model.js';
import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/identity.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { WebhookTarget } from '../config/webhooks/webhook-file.js';
import { Revisions } from '../database/revisions.js';
import type { Viewer } from '../database/visibility/viewer.js';
import { MirrorFollowing } from '../mirror/following.js';
import { MirrorModule } from '../mirror/mirror.module.js';
import { deliver } from './deliver.js';
import { principalOfWebhook, StateChangedError, viewerOfWebhook, WebhookStates } from './webhook-state.js';
import { NO_FAILURE, POSITION_LOST, type WebhookState } from './webhook.entity.js';

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

const USER_ACCESS: PersonalDataAccess = { fields: ['Change.userId', 'Change.userNodeId'], users: [1, 1] };

/** Delivers the changes that one receiver selects, one after another (docs/adr/0046). */
class WebhookRun {
  private readonly logger = new Logger('Webhooks');
  private readonly groups: ReadonlySet<string> | null;
  private readonly principal;
  /** As the database has it. Null: to be read. */
  private state: WebhookState | null = null;
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
    try {
      const begin = async () => (await this.log.readEnd(this.viewer)).cursor;
      this.state ??= await this.states.read(this.target.id, begin);
      return await this.advance(this.state, signal);
    } catch (error) {
      const isChanged = error instanceof StateChangedError;
      if (!isChanged && !signal.aborted) await this.recover(error).catch(() => undefined);
      this.state = null;
      return isChanged ? 0 : RETRY_MS;
    }
  }

  private async advance(state: WebhookState, signal: AbortSignal): Promise<number> {
    const pause = state.disabledAt === null ? this.pauseOf(state) : RETRY_MS;
    if (pause > 0) {
      // An operator can end it.
      this.state = null;
      return Math.min(pause, RETRY_MS);
    }
    const filter = { kinds: this.target.kinds ?? null };
    const { changes, end, hasMore } = await this.log.readAfter(state.cursor, PART_SIZE, filter, this.viewer);
    for (const { change, cursor } of changes) {
      if (!this.selects(change)) continue;
      const failure = await deliver(this.target, change, signal);
      // Without an answer, the next leader delivers it again.
      if (signal.aborted) return 0;
      if (failure !== null) {
        await this.noteFailure(failure);
        return 0;
      }
      if (change.userId !== null) this.accessLog.note(this.principal, USER_ACCESS);
      await this.moveTo(cursor);
    }
    // Also over changes that are not selected, so that the position does not expire.
    await this.moveTo(end.cursor);
    return hasMore ? 0 : POLL_MS;
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

  private async moveTo(cursor: string): Promise<void> {
    const { state } = this;
    if (state === null || (state.cursor === cursor && state.attempts === 0)) return;
    this.state = await this.states.change(state, { ...NO_FAILURE, cursor });
    this.failed = null;
    if (state.attempts > 0)
      this.logger.log(`The webhook «${state.id}» accepts changes again after ${state.failedSeconds} s`);
  }

  private async noteFailure(failure: string): Promise<void> {
    const { state } = this;
    if (state === null) return;
    const at = performance.now();
    const failedSeconds = state.failedSeconds + Math.round((at - (this.failed?.at ?? at)) / 1000);
    const disabledAt = failedSeconds > LONGEST_FAILING ? new Date() : null;
    const changes = { attempts: state.attempts + 1, failedSeconds, failure, disabledAt };
    this.state = await this.states.change(state, changes);
    this.failed = { at, state: this.state };
    if (state.attempts === 0)
      this.logger.warn(
        `The webhook «${state.id}» does not accept a change: ${failure}. It is tried again for three days`,
      );
    if (disabledAt !== null)
      this.logger.error(
        `The webhook «${state.id}» is disabled after three days of failures: ${failure}. To continue where it stopped: ./directory webhook enable ${state.id}`,
      );
  }

  private async recover(error: unknown): Promise<void> {
    const { id } = this.target;
    const code = error instanceof ServiceError ? error.code : null;
    if (code === null)
      this.logger.error(`The webhook «${id}» waits: ${error instanceof Error ? error.message : ''}`);
    if (this.state === null || (code !== 'INVALID_CURSOR' && code !== 'CHANGE_CURSOR_EXPIRED')) return;
    // A restored database has another position, which is tried next.
    await this.states.change(this.state, { disabledAt: new Date(), failure: POSITION_LOST });
    this.logger.error(
      `The webhook «${id}» is disabled: ${POSITION_LOST}. To begin at now: ./directory webhook enable ${id} --from-now, and then let it read everything`,
    );
  }
}

/** Sends changes from the process that leads the synchronization. Loaded only where there are receivers. */
@Module({ imports: [AccessLogModule, MirrorModule], providers: [ChangeLog, WebhookStates] })
export class WebhooksModule {
  /** Counts what ends pauses: revisions, and the end of the leadership. */
  private news = 0;
  private readonly paused = new Set<() => void>();

  constructor(
    @Inject(CONFIG) config: Config,
    log: ChangeLog,
    states: WebhookStates,
    accessLog: AccessLog,
    mirror: MirrorFollowing,
    revisions: Revisions,
  ) {
    const wake = () => {
      this.news++;
      for (const end of this.paused) end();
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
      const { news } = this;
      const pause = await run.step(signal);
      if (pause === 0 || this.news !== news) continue;
      await new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          this.paused.delete(end);
          resolve();
        };
        const timer = setTimeout(end, pause);
        this.paused.add(end);
      });
    }
  }
}
