import { Inject, Injectable } from '@nestjs/common';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { type Count, Limit, type Taking } from './limit.js';
import { Limits } from './limits.js';
import { networkOf } from './network.js';

/** Seconds. */
const WINDOW = 15 * 60;

/** Who tries to come in, and from where. */
export interface Login {
  /** The account, with its kind in front; null: what was sent names none. */
  readonly account: string | null;
  readonly address: string;
}

/**
 * Counts logins that fail, for the address that they come from, whatever account is tried. What fails elsewhere does not
 * count, so that nobody can lock an account of others.
 */
@Injectable()
export class FailedLogins {
  private readonly addresses: Limit;
  /** Logins that nobody looked at, or were told nothing of, since the start. */
  refusals = 0;

  constructor(
    @Inject(CONFIG) { limits: { failedLogins } }: Config,
    private readonly limits: Limits,
  ) {
    this.addresses = new Limit('failed-logins:address', failedLogins, WINDOW);
  }

  /**
   * Looks at a secret of 256 random bits. A right one is never refused, however many wrong ones came before, also from the
   * same address: it cannot be guessed, so that whoever has it is whom it belongs to (docs/adr/0020).
   * @param verify looks; throws when it is wrong
   * @param isFailure tells the errors that say so from those that say nothing
   * @throws ServiceError RATE_LIMITED when it is wrong, and one too many
   */
  async guard<Result>(
    login: Login,
    verify: () => Promise<Result>,
    isFailure: (error: unknown) => boolean,
  ): Promise<Result> {
    try {
      return await verify();
    } catch (error) {
      if (isFailure(error)) await this.fail(login);
      throw error;
    }
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
   * To be asked of a login that can be guessed, once it is known that it is good: whoever guesses many times at once learns
   * nothing else.
   * @throws ServiceError RATE_LIMITED
   */
  async refuseLocked(login: Login): Promise<void> {
    const takings = this.takings(login, 0);
    const counts = await this.limits.take(takings);
    if (takings.some(({ limit }, index) => isFull(limit, counts[index]))) throw this.refuse(takings, counts);
  }

  private refuse(takings: readonly Taking[], counts: readonly Count[]): ServiceError {
    this.refusals++;
    return lockedFor(takings, counts);
  }

  private takings({ address }: Login, amount: number): Taking[] {
    return [{ limit: this.addresses, subject: networkOf(address), amount }];
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
  const message = 'Too many logins have failed from this address: try again later';
  return new ServiceError('RATE_LIMITED', message, { retryAfter: Math.max(...waits) });
}
