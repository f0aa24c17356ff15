import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Database } from '../database/database.js';
import { readClock } from '../database/statements/statement.js';
import { MirrorFollowing } from '../mirror/following.js';
import { WebhookEntity } from './webhook.entity.js';

/** Seconds between the first failure of a receiver and its end. */
const LONGEST_FAILING = 3 * 86_400;
/** Seconds between two attempts at most. */
const LONGEST_PAUSE = 600;
/** The longest pause that a receiver can ask for, in seconds. */
const LONGEST_ASKED = 3600;
/** An attempt that is later than this was delayed by the service, which was stopped: the receiver did not fail meanwhile. */
const LATEST_ATTEMPT_MS = 600_000;

/** The state of a receiver, and how long to wait until its next attempt. */
export interface WebhookState extends Readonly<WebhookEntity> {
  readonly pauseMs: number;
}

type Change = Partial<WebhookEntity> | ((state: WebhookEntity, now: Date) => Partial<WebhookEntity>);

/** An operator has changed the position of the receiver since it was read. */
export class PositionChangedError extends Error {}

/** Stores how far each receiver is. Only the leader writes. */
@Injectable()
export class WebhookStates {
  constructor(
    private readonly database: Database,
    private readonly following: MirrorFollowing,
  ) {}

  /** @param begin returns the cursor at which a new receiver begins */
  async findOrBegin(id: string, begin: () => Promise<string>): Promise<WebhookState> {
    return (await this.change(id, {})) ?? this.create(id, await begin());
  }

  /**
   * @param stored the position that was read or stored last
   * @throws PositionChangedError when another one is stored
   */
  async noteDelivered(id: string, cursor: string, stored: string): Promise<void> {
    await this.change(id, (state) => {
      if (state.cursor !== stored) throw new PositionChangedError();
      return { ...NO_FAILURE, cursor };
    });
  }

  /** @returns the state after the failure: disabled if the receiver has failed for too long */
  async noteFailure(id: string, reason: string, retryAfter: number | null): Promise<WebhookState | null> {
    return this.change(id, ({ attempts, failingSince, nextAttemptAt }, now) => {
      const pause = Math.max(
        Math.min(LONGEST_PAUSE, 2 ** attempts),
        Math.min(LONGEST_ASKED, retryAfter ?? 0),
      );
      const late = now.getTime() - (nextAttemptAt ?? now).getTime();
      const stopped = late > LATEST_ATTEMPT_MS ? late : 0;
      const since = failingSince === null ? now : new Date(failingSince.getTime() + stopped);
      const isOver = now.getTime() - since.getTime() > LONGEST_FAILING * 1000;
      return {
        attempts: attempts + 1,
        failingSince: since,
        nextAttemptAt: new Date(now.getTime() + pause * 1000),
        disabledAt: isOver ? now : null,
        failure: reason,
      };
    });
  }

  /**
   * Disables a receiver because of its position.
   * @throws PositionChangedError when another one is stored, as after a restore of the database
   */
  async disable(id: string, cursor: string, reason: string): Promise<void> {
    await this.change(id, (state, now) => {
      if (state.cursor !== cursor) throw new PositionChangedError();
      return { disabledAt: now, failure: reason };
    });
  }

  private create(id: string, cursor: string): Promise<WebhookState> {
    return this.write(async (manager) => {
      const states = manager.getRepository(WebhookEntity);
      const created = states.create({ ...NO_FAILURE, id, cursor, disabledAt: null });
      return Object.assign(await states.save(created), { pauseMs: 0 });
    });
  }

  /** Null if the receiver is unknown. */
  private change(id: string, change: Change): Promise<WebhookState | null> {
    return this.write(async (manager) => {
      const states = manager.getRepository(WebhookEntity);
      // An operator can change it at the same time.
      const state = await states.findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
      if (state === null) return null;
      const now = await readClock(manager);
      const given = typeof change === 'function' ? change(state, now) : change;
      const changed = Object.assign(state, given);
      Object.assign(changed, withoutFuture(changed, now));
      await states.save(changed);
      const left = (changed.nextAttemptAt?.getTime() ?? 0) - now.getTime();
      return Object.assign(changed, { pauseMs: Math.max(0, left) });
    });
  }

  private write<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result> {
    return this.database.transaction(async (manager) => {
      await this.following.admit(manager);
      return work(manager);
    });
  }
}

/** The clock of the database may have been set back since the times were stored. */
function withoutFuture(
  { failingSince, nextAttemptAt }: WebhookEntity,
  now: Date,
): Pick<WebhookEntity, 'failingSince' | 'nextAttemptAt'> {
  const earlier = (time: Date | null, limit: number) =>
    time === null ? null : new Date(Math.min(time.getTime(), limit));
  return {
    failingSince: earlier(failingSince, now.getTime()),
    nextAttemptAt: earlier(nextAttemptAt, now.getTime() + LONGEST_ASKED * 1000),
  };
}

export const NO_FAILURE = {
  attempts: 0,
  failingSince: null,
  nextAttemptAt: null,
  failure: null,
} as const satisfies Partial<WebhookEntity>;
