import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../../auth/principal.js';
import { ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { type LimitResult, Limit, type Taking, networkOf, Limits } from '../../limits/limits.js';
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

/**
 * Counts requests and points per principal or address. Limits of this process are counted synchronously; shared
 * ones in one round trip, when the cost is known (docs/adr/0020).
 */
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

  /** Whether the limits are shared with other processes, so that counting takes a round trip. */
  get isShared(): boolean {
    return this.limits.isShared;
  }

  /**
   * Counts a request. If the limits are shared, `charge` counts it instead, unless the caller is at the limit.
   * @throws ServiceError RATE_LIMITED
   */
  countRequest(caller: Caller): void | Promise<void> {
    if (!this.isShared) {
      const counts = this.limits.take([this.requestOf(caller)]);
      if (counts instanceof Promise)
        return counts.then(([count]) => {
          this.admit(caller, count);
        });
      this.admit(caller, counts[0]);
    } else if (this.requests.remaining(this.requests.take(subjectOf(caller), 0)) === 0) {
      return this.settle(caller);
    }
  }

  /** Counts a request that was not charged. Throws ServiceError RATE_LIMITED. */
  async settle(caller: Caller): Promise<void> {
    const counts = await this.limits.take([this.requestOf(caller)]);
    this.admit(caller, counts[0]);
  }

  /** Whether a request of the endpoint has been counted. */
  isSettled({ rateLimits }: Caller): boolean {
    return rateLimits === null || rateLimits.length > 0;
  }

  /** Charges an operation before it runs; a dry run costs nothing. Throws ServiceError RATE_LIMITED. */
  charge(caller: Caller, cost: OperationCost, isDryRun: boolean): void | Promise<void> {
    const points = { limit: this.points, subject: subjectOf(caller), amount: isDryRun ? 0 : cost.points };
    if (!this.isSettled(caller)) return this.chargeAll(caller, cost, points);
    const settle = ([count]: readonly LimitResult[]) => {
      this.settlePoints(caller, cost, count);
    };
    const counts = this.limits.take([points]);
    if (counts instanceof Promise) return counts.then(settle);
    settle(counts);
  }

  private async chargeAll(caller: Caller, cost: OperationCost, points: Taking): Promise<void> {
    const [requestCount, pointCount] = await this.limits.take([this.requestOf(caller), points]);
    this.admit(caller, requestCount);
    this.settlePoints(caller, cost, pointCount);
  }

  private requestOf(caller: Caller): Taking {
    return { limit: this.requests, subject: subjectOf(caller), amount: 1 };
  }

  private admit(caller: Caller, count: LimitResult | undefined): void {
    const state = rateLimitStateOf(this.requests, count, null);
    caller.rateLimits?.push(state);
    if (count?.isTaken === true) return;
    this.rejections.requests++;
    throw rateLimited(`Too many requests: ${this.requests.amount} a minute are answered`, state);
  }

  private settlePoints(
    caller: Caller,
    { points: cost }: OperationCost,
    count: LimitResult | undefined,
  ): void {
    const state = rateLimitStateOf(this.points, count, cost);
    caller.rateLimits?.push(state);
    if (count?.isTaken === true) return;
    this.rejections.points++;
    const { amount } = this.points;
    const message = `This operation costs ${cost} points, which is more than is left of ${amount} an hour`;
    throw rateLimited(message, state);
  }
}

function subjectOf({ principal, ip }: Caller): string {
  return principal?.countedAs ?? networkOf(ip);
}

function rateLimitStateOf(limit: Limit, count: LimitResult | undefined, cost: number | null): RateLimitState {
  if (count === undefined) throw new Error('The limit returned no count');
  const reset = limit.reset(count);
  return { limit, remaining: limit.remaining(count), reset, resetAt: Date.now() + 1000 * reset, cost };
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
