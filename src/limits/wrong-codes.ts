import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Limit } from './limit.js';
import { Limits } from './limits.js';
import { networkOf } from './network.js';

const WINDOW_SECONDS = 15 * 60;

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
