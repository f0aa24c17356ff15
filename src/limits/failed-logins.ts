import { Inject, Injectable } from '@nestjs/common';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { type Count, Limit, type Taking } from './limit.js';
import { Limits } from './limits.js';
import { networkOf } from './network.js';

/** Seconds. */
const WINDOW = 15 * 60;
/** Longer names are nobody's, and would only fill the memory. */
const LONGEST_ACCOUNT = 256;

/** Who tries to come in, and from where. */
export interface Login {
  /** The account, with its kind in front; null: what was sent names none. */
  readonly account: string | null;
  readonly address: string;
}

/**
 * Counts logins that fail, for the account that was tried and for the address that it was tried from. Once one of them
 * has had its share, nobody comes in there until the window is over, whatever they send.
 */
@Injectable()
export class FailedLogins {
  private readonly accounts: Limit;
  private readonly addresses: Limit;
  /** Logins that nobody looked at, or were told nothing of, since the start. */
  refusals = 0;

  constructor(
    @Inject(CONFIG) { limits: { failedLogins } }: Config,
    private readonly limits: Limits,
  ) {
    this.accounts = new Limit('failed-logins:account', failedLogins, WINDOW);
    this.addresses = new Limit('failed-logins:address', failedLogins, WINDOW);
  }

  /**
   * Looks at what was sent, unless it is known already that it does not matter.
   * @param verify looks; throws when it is wrong
   * @param isFailure tells the errors that say so from those that say nothing
   * @throws ServiceError RATE_LIMITED
   */
  async guard<Result>(
    login: Login,
    verify: () => Promise<Result>,
    isFailure: (error: unknown) => boolean,
  ): Promise<Result> {
    await this.refuseKnown(login);
    let result: Result;
    try {
      result = await verify();
    } catch (error) {
      if (isFailure(error)) await this.fail(login);
      throw error;
    }
    await this.refuseLocked(login);
    return result;
  }

  /**
   * Counts a failure.
   * @throws ServiceError RATE_LIMITED when it is one too many: then nobody is told that it was one
   */
  async fail(login: Login): Promise<void> {
    const takings = this.takings(login, 1);
    const counts = await this.limits.take(takings);
    if (counts.some(({ isTaken }) => !isTaken)) throw this.refuse(takings, counts);
  }

  /**
   * To be asked once it is known that a login is good: whoever guesses many times at once learns nothing else.
   * @throws ServiceError RATE_LIMITED
   */
  async refuseLocked(login: Login): Promise<void> {
    const takings = this.takings(login, 0);
    const counts = await this.limits.take(takings);
    if (takings.some(({ limit }, index) => isFull(limit, counts[index]))) throw this.refuse(takings, counts);
  }

  /** Asks only when it was locked when last heard of: most never are. */
  private async refuseKnown(login: Login): Promise<void> {
    const isLocked = this.takings(login, 0).some(({ limit, subject }) =>
      isFull(limit, limit.take(subject, 0)),
    );
    if (isLocked) await this.refuseLocked(login);
  }

  private refuse(takings: readonly Taking[], counts: readonly Count[]): ServiceError {
    this.refusals++;
    return lockedFor(takings, counts);
  }

  private takings({ account, address }: Login, amount: number): Taking[] {
    const ofAddress = { limit: this.addresses, subject: networkOf(address), amount };
    if (account === null) return [ofAddress];
    return [{ limit: this.accounts, subject: account.slice(0, LONGEST_ACCOUNT), amount }, ofAddress];
  }
}

function isFull(limit: Limit, count: Count | undefined): boolean {
  return (count?.taken ?? 0) >= limit.amount;
}

function lockedFor(takings: readonly Taking[], counts: readonly Count[]): ServiceError {
  const waits = takings.map(({ limit }, index) => {
    const count = counts[index];
    return count !== undefined && isFull(limit, count) ? limit.reset(count) : 1;
  });
  const message = 'Too many logins have failed for this account, or from this address: try again later';
  return new ServiceError('RATE_LIMITED', message, { retryAfter: Math.max(...waits) });
}
