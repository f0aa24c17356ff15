import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../../auth/principal.js';
import { ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Limit, Limits, networkOf } from '../../limits/limits.js';
import type { OperationCost } from '../analysis/operation-cost.js';

/** Durations in seconds. */
const MINUTE = 60;
const HOUR = 3600;

/** The state of one of the two limits, for the response headers. */
export interface RateLimitState {
  readonly limit: Limit;
  readonly remaining: number;
  /** Seconds until the full amount is available again. */
  readonly reset: number;
  /** The same as a time, in milliseconds of the epoch. */
  readonly resetAt: number;
  /** The cost of this operation; null for the limit of requests. */
  readonly cost: number | null;
}

/** A request of the endpoint: the caller to count, and the states to report in the response. */
interface Caller {
  /** All tokens of one subject and client are one caller. Without a token, the address is the caller. */
  readonly principal: Principal | null;
  readonly ip: string;
  /** Charged limits, requests first. */
  readonly rateLimits: RateLimitState[] | null;
}

/** Counts requests and points per principal or address. */
@Injectable()
export class RateLimiter {
  private readonly requests: Limit;
  private readonly points: Limit;
  /** Number of rejected requests since the start, by the exceeded limit. */
  readonly rejections = { requests: 0, points: 0 };

  constructor(
    @Inject(CONFIG) { limits: { requestsPerMinute, pointsPerHour } }: Config,
    private readonly limits: Limits,
  ) {
    this.requests = new Limit('requests', requestsPerMinute, MINUTE);
    this.points = new Limit('points', pointsPerHour, HOUR);
  }

  /** Counts a request. Throws ServiceError RATE_LIMITED. */
  async countRequest(caller: Caller): Promise<void> {
    const { isTaken, state } = await this.take(this.requests, caller, 1, null);
    if (isTaken) return;
    this.rejections.requests++;
    throw rateLimited(`Too many requests: ${this.requests.amount} a minute are answered`, state);
  }

  /** Charges an operation before it runs; a dry run costs nothing. Throws ServiceError RATE_LIMITED. */
  async charge(caller: Caller, { points: cost }: OperationCost, isDryRun: boolean): Promise<void> {
    const { isTaken, state } = await this.take(this.points, caller, isDryRun ? 0 : cost, cost);
    if (isTaken) return;
    this.rejections.points++;
    const { amount } = this.points;
    const message = `This operation costs ${cost} points, which is more than is left of ${amount} an hour`;
    throw rateLimited(message, state);
  }

  private async take(
    limit: Limit,
    { principal, ip, rateLimits }: Caller,
    amount: number,
    cost: number | null,
  ): Promise<{ isTaken: boolean; state: RateLimitState }> {
    const count = await this.limits.take(limit, principal?.countedAs ?? networkOf(ip), amount);
    const reset = limit.reset(count);
    const resetAt = Date.now() + 1000 * reset;
    const state = { limit, remaining: limit.remaining(count), reset, resetAt, cost };
    rateLimits?.push(state);
    return { isTaken: count.isTaken, state };
  }
}

/** The error for a caller that exceeded a limit within its window. */
function rateLimited(message: string, { reset }: RateLimitState): ServiceError {
  return new ServiceError('RATE_LIMITED', message, { retryAfter: reset });
}

/** Cached header texts, because the policy of a limit never changes. */
const policies = new WeakMap<Limit, string>();

/** Returns the header fields of draft-ietf-httpapi-ratelimit-headers. */
export function rateLimitHeaders(rateLimits: readonly RateLimitState[]): Record<string, string> | null {
  let policy = '';
  let limits = '';
  for (const { limit, remaining, reset, cost } of rateLimits) {
    const separator = policy === '' ? '' : ', ';
    policy += separator + policyOf(limit);
    limits += `${separator}"${limit.name}";r=${remaining};t=${reset}`;
    if (cost !== null) limits += `;directory-cost=${cost}`;
  }
  return policy === '' ? null : { 'ratelimit-policy': policy, ratelimit: limits };
}

function policyOf(limit: Limit): string {
  let policy = policies.get(limit);
  if (policy === undefined) {
    policy = `"${limit.name}";q=${limit.amount};w=${limit.window}`;
    policies.set(limit, policy);
  }
  return policy;
}
