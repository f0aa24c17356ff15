import { Inject, Injectable } from '@nestjs/common';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Limit, type LimitResult, networkOf, Limits } from './limits.js';

const WINDOW_SECONDS = 15 * 60;

/** Counts failed logins by address, not by account, so that an attacker cannot lock out others. */
@Injectable()
export class FailedLogins {
  private readonly limit: Limit;
  /** Logins that were rejected because of the limit, since the start. */
  rejections = 0;

  constructor(
    @Inject(CONFIG) { limits: { failedLogins } }: Config,
    private readonly limits: Limits,
  ) {
    this.limit = new Limit('failed-logins:address', failedLogins, WINDOW_SECONDS);
  }

  /**
   * Verifies a secret of 256 random bits. A right one is accepted after any number of wrong ones, because it cannot
   * be guessed (docs/adr/0020). Throws ServiceError RATE_LIMITED for a wrong one beyond the limit.
   */
  async guard<Result>(
    address: string,
    verify: () => Promise<Result>,
    isFailure: (error: unknown) => boolean,
  ): Promise<Result> {
    try {
      return await verify();
    } catch (error) {
      if (isFailure(error)) await this.fail(address);
      throw error;
    }
  }

  /** Counts a failed login. Throws ServiceError RATE_LIMITED, which does not say that the login failed. */
  async fail(address: string): Promise<void> {
    const result = await this.limits.takeOne(this.limit, networkOf(address), 1);
    if (!result.isTaken) throw this.reject(result);
  }

  private reject(result: LimitResult): ServiceError {
    this.rejections++;
    const message = 'Too many logins have failed from this address: try again later';
    return new ServiceError('RATE_LIMITED', message, { retryAfter: this.limit.reset(result) });
  }
}
