import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Logger, Module } from '@nestjs/common';
import { AccessLog } from '../access-log/access-log.js';
import { AccessLogModule } from '../access-log/access-log.module.js';
import type { PersonalDataAccess } from '../access-log/personal-data.decorator.js';
import { ChangeLog } from '../changes/change-log.js';
import type { Change } from '../changes/change.model.js';
import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/identity.js';
import { withEither } from '../common/with-either.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { WebhookTarget } from '../config/webhooks/webhook-file.js';
import { Revisions } from '../database/revisions.js';
import { MirrorFollowing } from '../mirror/following.js';
import { MirrorModule } from '../mirror/mirror.module.js';
import { deliver } from './deliver.js';
import { principalOfWebhook, StateChangedError, viewerOfWebhook, WebhookStates } from './webhook-state.js';
import { NO_FAILURE, POSITION_LOST, type WebhookEntity } from './webhook.entity.js';

/** Changes that one statement reads. */
const PART_SIZE = 100;
/** Milliseconds until the log is read again without a new revision. */
const POLL_MS = 60_000;
/** Milliseconds after which the state of a receiver that fails or is disabled, or a database that was unavailable, is read again. */
const RETRY_MS = 5000;
/** Milliseconds after which a position is stored although nothing was delivered, so that it does not expire. */
const STORE_MS = 600_000;
/** Seconds between two attempts at most. */
const LONGEST_PAUSE = 600;
/** Seconds of failures until a receiver is disabled. */
const LONGEST_FAILING = 3 * 86_400;

const USER_ACCESS: PersonalDataAccess = { fields: ['Change.userId', 'Change.userNodeId'], users: [1, 1] };

/** What the process that leads needs to send changes. */
interface Services {
  readonly config: Config;
  readonly log: ChangeLog;
  readonly states: WebhookStates;
  readonly accessLog: AccessLog;
}

/** Delivers the changes that one receiver selects, one after another (docs/adr/0046). */
class WebhookRun {
  private readonly logger = new Logger('Webhooks');
  private readonly groups: ReadonlySet<string> | null;
  private readonly principal;
  private readonly viewer;
  /** As the database has it. Null: to be read. */
  private state: WebhookEntity | null = null;
  /** Where the log is read on: the stored position, or after it if nothing in between is selected. */
  private position = '';
  private storedAt = performance.now();
  /** When the last attempt failed in this process, and the state after that. */
  private failed: { readonly at: number; readonly state: WebhookEntity } | null = null;

  constructor(
    private readonly target: WebhookTarget,
    private readonly services: Services,
  ) {
    this.groups = target.groups === undefined ? null : new Set(target.groups.map(foldId));
    this.principal = principalOfWebhook(target);
    this.viewer = viewerOfWebhook(target, services.config);
  }

  /** Delivers what is new, up to the first failure. Never throws. Returns for how many milliseconds there is nothing to do. */
  async step(signal: AbortSignal): Promise<number> {
    try {
      return await this.advance(signal);
    } catch (error) {
      const isChanged = error instanceof StateChangedError;
      if (!isChanged && !signal.aborted) await this.recover(error).catch(() => undefined);
      this.state = null;
      return isChanged ? 0 : RETRY_MS;
    }
  }

  private async advance(signal: AbortSignal): Promise<number> {
    const { log } = this.services;
    const state = this.state ?? (await this.read());
    const pause = state.disabledAt === null ? this.pauseOf(state) : RETRY_MS;
    if (pause > 0) {
      // An operator can end it.
      this.state = null;
      return Math.min(pause, RETRY_MS);
    }
    const filter = { kinds: this.target.kinds ?? null };
    const part = await log.readAfter(this.position, PART_SIZE, filter, this.viewer);
    for (const { change, cursor } of part.changes) {
      if (!this.selects(change)) continue;
      const failure = await deliver(this.target, change, signal);
      // Without an answer, the next leader delivers it again.
      if (signal.aborted) return 0;
      if (failure !== null) {
        await this.noteFailure(failure);
        return 0;
      }
      await this.noteDelivered(change, cursor);
    }
    this.position = part.end.cursor;
    if (performance.now() - this.storedAt >= STORE_MS) await this.store({ cursor: this.position });
    return part.hasMore ? 0 : POLL_MS;
  }

  private async read(): Promise<WebhookEntity> {
    const { log, states } = this.services;
    this.state = await states.read(this.target.id, async () => (await log.readEnd(this.viewer)).cursor);
    this.position = this.state.cursor;
    return this.state;
  }

  /** Milliseconds until the next attempt: 1, 2, 4 … seconds after the last one, unless an operator has changed the state since. */
  private pauseOf({ attempts, failedSeconds }: WebhookEntity): number {
    const { failed } = this;
    if (failed?.state.attempts !== attempts || failed.state.failedSeconds !== failedSeconds) return 0;
    const seconds = Math.min(LONGEST_PAUSE, 2 ** (attempts - 1));
    return failed.at + seconds * 1000 - performance.now();
  }

  /** A group is selected by the id that it has, or that the change takes from it. */
  private selects({ groupId, previousId }: Change): boolean {
    if (this.groups === null) return true;
    if (groupId === null) return false;
    return this.groups.has(foldId(groupId)) || (previousId !== null && this.groups.has(foldId(previousId)));
  }

  private async store(changes: Partial<WebhookEntity>): Promise<WebhookEntity> {
    this.state = await this.services.states.change(this.state ?? (await this.read()), changes);
    this.storedAt = performance.now();
    return this.state;
  }

  private async noteDelivered(change: Change, cursor: string): Promise<void> {
    const { attempts = 0, failedSeconds = 0 } = this.state ?? {};
    if (change.userId !== null) this.services.accessLog.note(this.principal, USER_ACCESS);
    await this.store({ ...NO_FAILURE, cursor });
    this.position = cursor;
    this.failed = null;
    if (attempts > 0)
      this.logger.log(`The webhook «${this.target.id}» accepts changes again after ${failedSeconds} s`);
  }

  private async noteFailure(failure: string): Promise<void> {
    const { id } = this.target;
    const at = performance.now();
    const { attempts = 0, failedSeconds: before = 0 } = this.state ?? {};
    const failedSeconds = before + Math.round((at - (this.failed?.at ?? at)) / 1000);
    const disabledAt = failedSeconds > LONGEST_FAILING ? new Date() : null;
    const state = await this.store({ attempts: attempts + 1, failedSeconds, failure, disabledAt });
    this.failed = { at, state };
    if (attempts === 0)
      this.logger.warn(
        `The webhook «${id}» does not accept a change: ${failure}. It is tried again for three days`,
      );
    if (disabledAt !== null)
      this.logger.error(
        `The webhook «${id}» is disabled after three days of failures: ${failure}. To continue where it stopped: ./directory webhook enable ${id}`,
      );
  }

  private async recover(error: unknown): Promise<void> {
    const { state, position } = this;
    const { id } = this.target;
    const code = error instanceof ServiceError ? error.code : null;
    if (code === null)
      this.logger.error(`The webhook «${id}» waits: ${error instanceof Error ? error.message : ''}`);
    if (code !== 'INVALID_CURSOR' && code !== 'CHANGE_CURSOR_EXPIRED') return;
    // A restored database may know the stored position: it is tried next.
    if (state === null || state.cursor !== position) return;
    await this.services.states.change(state, { disabledAt: new Date(), failure: POSITION_LOST });
    this.logger.error(
      `The webhook «${id}» is disabled: ${POSITION_LOST}. To begin at now: ./directory webhook enable ${id} --from-now, and then let it read everything`,
    );
  }
}

/** Sends changes from the process that leads the synchronization. Loaded only where there are receivers. */
@Module({ imports: [AccessLogModule, MirrorModule], providers: [ChangeLog, WebhookStates] })
export class WebhooksModule {
  /** Aborted and replaced with each revision. */
  private news = new AbortController();
  private readonly services: Services;

  constructor(
    @Inject(CONFIG) config: Config,
    log: ChangeLog,
    states: WebhookStates,
    accessLog: AccessLog,
    mirror: MirrorFollowing,
    revisions: Revisions,
  ) {
    this.services = { config, log, states, accessLog };
    revisions.onChanged(() => {
      const { news } = this;
      this.news = new AbortController();
      news.abort();
    });
    mirror.whileLeading((signal) => this.run(signal));
  }

  /** Sends until the signal is aborted. A receiver that fails holds up no other one. */
  private async run(signal: AbortSignal): Promise<void> {
    const runs = this.services.config.webhooks.map((target) => new WebhookRun(target, this.services));
    await Promise.all(runs.map((run) => this.runOne(run, signal)));
  }

  private async runOne(run: WebhookRun, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Before the log is read, so that a revision that comes meanwhile ends the pause.
      const { signal: news } = this.news;
      const pause = await run.step(signal);
      if (pause === 0) continue;
      await withEither([signal, news], (ending) =>
        sleep(pause, undefined, { signal: ending }).catch(() => undefined),
      );
    }
  }
}
