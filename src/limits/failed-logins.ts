import { Inject, Injectable } from '@nestjs/common';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { type LimitResult, Limit, type Taking, networkOf } from './limit.js';
import { Limits } from './limits.js';

const WINDOW_SECONDS = 15 * 60;

/** An attempt to log in. */
export interface Login {
  /** The account, with its kind as a prefix; null if the credentials name none. */
  readonly account: string | null;
  readonly address: string;
}

/**
 * Counts failed logins by address, for all accounts together. An account has no count, so that an attacker cannot lock
 * the accounts of others.
 */
@Injectable()
export class FailedLogins {
  private readonly addresses: Limit;
  /** Logins that were rejected because of the limit, since the start. */
  rejections = 0;

  constructor(
    @Inject(CONFIG) { limits: { failedLogins } }: Config,
    private readonly limits: Limits,
  ) {
    this.addresses = new Limit('failed-logins:address', failedLogins, WINDOW_SECONDS);
  }

  /**
   * Verifies a secret of 256 random bits. A right one is accepted after any number of wrong ones, even from the same
   * address, because it cannot be guessed (docs/adr/0020).
   * @param verify throws if the secret is wrong
   * @param isFailure whether an error means that the secret is wrong
   * @throws ServiceError RATE_LIMITED if the secret is wrong and the limit is exceeded
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
   * Counts a failed login.
   * @throws ServiceError RATE_LIMITED if the limit is exceeded, and then the response does not say that the login failed
   */
  async fail(login: Login): Promise<void> {
    const takings = this.takings(login, 1);
    const counts = await this.limits.take(takings);
    if (counts.some(({ isTaken }) => !isTaken)) throw this.reject(takings, counts);
  }

  /**
   * Rejects a correct login whose secret could be guessed, if the limit is exceeded: a client that guesses many secrets
   * at once must not find the correct one.
   * @throws ServiceError RATE_LIMITED
   */
  async rejectLocked(login: Login): Promise<void> {
    const takings = this.takings(login, 0);
    const counts = await this.limits.take(takings);
    if (takings.some(({ limit }, index) => isFull(limit, counts[index]))) throw this.reject(takings, counts);
  }

  private reject(takings: readonly Taking[], counts: readonly LimitResult[]): ServiceError {
    this.rejections++;
    return lockedFor(takings, counts);
  }

  private takings({ address }: Login, amount: number): Taking[] {
    return [{ limit: this.addresses, subject: networkOf(address), amount }];
  }
}

function isFull(limit: Limit, count: LimitResult | undefined): boolean {
  return (count?.taken ?? 0) >= limit.amount;
}

function lockedFor(takings: readonly Taking[], counts: readonly LimitResult[]): ServiceError {
  const waits = takings.map(({ limit }, index) => {
    const count = counts[index];
    return count !== undefined && isFull(limit, count) ? limit.reset(count) : 1;
  });
  const message = 'Too many logins have failed from this address: try again later';
  return new ServiceError('RATE_LIMITED', message, { retryAfter: Math.max(...waits) });
}

/** The codes of the device flow (RFC 8628 §3.2): a person types the user code, and the device sends the device code. */
export type CodeKind = 'user-code' | 'device-code';

/**
 * Counts wrong codes of the device flow by address. Each kind of code has its own count, so that a device that repeats an
 * old code does not lock out the people who type theirs.
 */
@Injectable()
export class WrongCodes {
  private readonly byKind: Readonly<Record<CodeKind, Limit>>;

  constructor(
    @Inject(CONFIG) { limits: { failedLogins } }: Pick<Config, 'limits'>,
    private readonly limits: Limits,
  ) {
    const limitOf = (kind: CodeKind) => new Limit(`wrong-codes:${kind}`, failedLogins, WINDOW_SECONDS);
    this.byKind = { 'user-code': limitOf('user-code'), 'device-code': limitOf('device-code') };
  }

  /**
   * Counts a wrong code.
   * @returns seconds until the next attempt is possible; null within the limit
   */
  async count(kind: CodeKind, address: string): Promise<number | null> {
    const limit = this.byKind[kind];
    const [count] = await this.limits.take([{ limit, subject: networkOf(address), amount: 1 }]);
    return count === undefined || count.isTaken ? null : limit.reset(count);
  }

  /** @returns seconds until the next attempt is possible; null if it is possible now */
  async wait(kind: CodeKind, address: string): Promise<number | null> {
    const limit = this.byKind[kind];
    const [count] = await this.limits.take([{ limit, subject: networkOf(address), amount: 0 }]);
    return count === undefined || count.taken < limit.amount ? null : limit.reset(count);
  }
}
