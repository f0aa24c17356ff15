import { Logger } from '@nestjs/common';
import type { AccessLog } from '../access-log/access-log.js';
import type { PersonalDataAccess } from '../access-log/personal-data.decorator.js';
import type { Principal } from '../auth/principal.js';
import type { ChangeLog } from '../changes/change-log.js';
import type { Change } from '../changes/change.model.js';
import { ServiceError } from '../common/errors.js';
import { foldId } from '../common/identity.js';
import type { WebhookTarget } from '../config/webhooks/webhook-file.js';
import type { Viewer } from '../database/visibility/viewer.js';
import { deliver, type DeliveryFailure } from './deliver.js';
import { POSITION_LOST } from './webhook.entity.js';
import { NO_FAILURE, PositionChangedError, type WebhookState, type WebhookStates } from './webhook-states.js';

/** Changes that one statement reads. */
const PART_SIZE = 100;
/** Milliseconds until the log is read again without a new revision. */
const POLL_MS = 60_000;
/** Milliseconds after which the state of a receiver that waits or is disabled, or a database that was unavailable, is read again. */
const RETRY_MS = 5000;
/** Milliseconds after which a position is stored although nothing was delivered, so that it does not expire. */
const STORE_MS = 600_000;

const USER_ACCESS: PersonalDataAccess = { fields: ['Change.userId', 'Change.userNodeId'], users: [1, 1] };

/** How long to wait before the next step, and whether a new revision ends the wait. */
interface Pause {
  readonly milliseconds: number;
  readonly endsWithNews: boolean;
}

const NOW: Pause = { milliseconds: 0, endsWithNews: false };

interface Services {
  readonly log: ChangeLog;
  readonly states: WebhookStates;
  readonly accessLog: AccessLog;
}

/** Delivers the changes that one receiver selects, one after another. */
export class WebhookRun {
  private readonly logger = new Logger('Webhooks');
  private readonly groups: ReadonlySet<string> | null;
  /** Null: to be read. While this process leads, nothing else changes it but an operator who enables the receiver. */
  private state: WebhookState | null = null;
  /** The position that the database has. */
  private stored = '';
  private storedAt = performance.now();

  constructor(
    private readonly target: WebhookTarget,
    private readonly principal: Principal,
    private readonly viewer: Viewer,
    private readonly services: Services,
  ) {
    this.groups = target.groups === undefined ? null : new Set(target.groups.map(foldId));
  }

  /** Delivers what is new, up to the first failure. Never throws. */
  async step(signal: AbortSignal): Promise<Pause> {
    try {
      return await this.advance(signal);
    } catch (error) {
      const cursor = this.state?.cursor ?? '';
      this.state = null;
      if (error instanceof PositionChangedError) return NOW;
      if (!signal.aborted) await this.note(error, cursor);
      return { milliseconds: RETRY_MS, endsWithNews: true };
    }
  }

  private async advance(signal: AbortSignal): Promise<Pause> {
    const { log } = this.services;
    const { target, viewer } = this;
    const begin = async () => (await log.readEnd(viewer)).cursor;
    const state = this.state ?? (await this.readState(begin));
    if (state.disabledAt !== null) throw new DisabledError();
    if (state.pauseMs > 0) {
      // An operator can end the pause.
      this.state = null;
      return { milliseconds: Math.min(state.pauseMs, RETRY_MS), endsWithNews: false };
    }
    const part = await log.readAfter(state.cursor, PART_SIZE, { kinds: target.kinds ?? null }, viewer);
    for (const { change, cursor } of part.changes) {
      if (!this.selects(change)) continue;
      const failure = await deliver(target, change, signal);
      // Without an answer, the next leader delivers it again.
      if (signal.aborted) return NOW;
      if (failure !== null) return this.noteFailure(failure);
      await this.noteDelivered(change, cursor);
    }
    await this.moveTo(part.end.cursor);
    return part.hasMore ? NOW : { milliseconds: POLL_MS, endsWithNews: true };
  }

  private async readState(begin: () => Promise<string>): Promise<WebhookState> {
    this.state = await this.services.states.findOrBegin(this.target.id, begin);
    this.stored = this.state.cursor;
    return this.state;
  }

  /** A group is selected by the id that it has, or that the change takes from it. */
  private selects({ groupId, previousId }: Change): boolean {
    if (this.groups === null) return true;
    if (groupId === null) return false;
    return this.groups.has(foldId(groupId)) || (previousId !== null && this.groups.has(foldId(previousId)));
  }

  private async noteDelivered(change: Change, cursor: string): Promise<void> {
    const { states, accessLog } = this.services;
    const { id } = this.target;
    if (change.userId !== null) accessLog.note(this.principal, USER_ACCESS);
    await states.noteDelivered(id, cursor, this.stored);
    this.noteStored(cursor);
    if (this.state === null) return;
    if (this.state.attempts > 0) {
      const failed = Math.round((Date.now() - (this.state.failingSince?.getTime() ?? Date.now())) / 1000);
      this.logger.log(`The webhook «${id}» accepts changes again after ${failed} s`);
    }
    this.state = { ...this.state, ...NO_FAILURE, cursor };
  }

  /** Moves over changes that are not selected. */
  private async moveTo(cursor: string): Promise<void> {
    const { states } = this.services;
    if (this.state === null) return;
    if (this.state.cursor !== cursor) this.state = { ...this.state, cursor };
    if (this.stored === cursor || performance.now() - this.storedAt < STORE_MS) return;
    await states.noteDelivered(this.target.id, cursor, this.stored);
    this.noteStored(cursor);
  }

  private noteStored(cursor: string): void {
    this.stored = cursor;
    this.storedAt = performance.now();
  }

  private async noteFailure({ reason, retryAfter }: DeliveryFailure): Promise<Pause> {
    const { id } = this.target;
    this.state = await this.services.states.noteFailure(id, reason, retryAfter);
    if (this.state?.attempts === 1)
      this.logger.warn(
        `The webhook «${id}» does not accept a change: ${reason}. It is tried again for three days`,
      );
    if ((this.state?.disabledAt ?? null) !== null)
      this.logger.error(
        `The webhook «${id}» is disabled after three days of failures: ${reason}. To continue where it stopped: ./directory webhook enable ${id}`,
      );
    return NOW;
  }

  private async note(error: unknown, cursor: string): Promise<void> {
    if (error instanceof DisabledError) return;
    const { id } = this.target;
    const code = error instanceof ServiceError ? error.code : null;
    if (code === 'INVALID_CURSOR' || code === 'CHANGE_CURSOR_EXPIRED') await this.disable(cursor);
    else if (code === null)
      this.logger.error(`The webhook «${id}» waits: ${error instanceof Error ? error.message : ''}`);
  }

  /** The stored position is older than that in memory, and may be known in a restored database: it is tried next. */
  private async disable(cursor: string): Promise<void> {
    const { id } = this.target;
    try {
      await this.services.states.disable(id, cursor, POSITION_LOST);
    } catch {
      return; // Also while the database is unavailable.
    }
    this.logger.error(
      `The webhook «${id}» is disabled: ${POSITION_LOST}. To begin at now: ./directory webhook enable ${id} --from-now, and then let it read everything`,
    );
  }
}

/** An operator has to enable the receiver. */
class DisabledError extends Error {}
