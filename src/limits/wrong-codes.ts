import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Limit } from './limit.js';
import { Limits } from './limits.js';
import { networkOf } from './network.js';

/** Seconds. */
const WINDOW = 15 * 60;

/** The codes of the device flow (RFC 8628 §3.2): what a person types, and what the device sends. */
export type CodeKind = 'user-code' | 'device-code';

/**
 * Counts wrong codes of the device flow, for the address that they come from. A kind of codes has a count of its own: a
 * device that goes on with an old code does not keep people from typing theirs.
 */
@Injectable()
export class WrongCodes {
  private readonly byKind: Readonly<Record<CodeKind, Limit>>;

  constructor(
    @Inject(CONFIG) { limits: { failedLogins } }: Pick<Config, 'limits'>,
    private readonly limits: Limits,
  ) {
    const limitOf = (kind: CodeKind) => new Limit(`wrong-codes:${kind}`, failedLogins, WINDOW);
    this.byKind = { 'user-code': limitOf('user-code'), 'device-code': limitOf('device-code') };
  }

  /**
   * Counts a wrong code.
   * @returns seconds until the next attempt is of use; null: it was within the limit
   */
  async count(kind: CodeKind, address: string): Promise<number | null> {
    const limit = this.byKind[kind];
    const [count] = await this.limits.take([{ limit, subject: networkOf(address), amount: 1 }]);
    return count === undefined || count.isTaken ? null : limit.reset(count);
  }

  /** @returns seconds until the next attempt is of use; null: the address may try now */
  async wait(kind: CodeKind, address: string): Promise<number | null> {
    const limit = this.byKind[kind];
    const [count] = await this.limits.take([{ limit, subject: networkOf(address), amount: 0 }]);
    return count === undefined || count.taken < limit.amount ? null : limit.reset(count);
  }
}
