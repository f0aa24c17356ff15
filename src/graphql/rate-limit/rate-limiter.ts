import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Limit, networkOf, Limits } from '../../limits/limits.js';
import type { OperationCost } from '../analysis/operation-cost.js';

/** The state of one of the two limits, for the response headers. */
export interface RateLimitState {
  readonly limit: Limit;
  readonly remaining: number;
  readonly reset: number;
  /** The cost of this operation; null for the limit of requests. */
  readonly cost: number | null;
}

/** The caller to count, and the states to report in the response. */
type Caller = Pick<FastifyRequest, 'principal' | 'ip' | 'rateLimits'>;

/** Counts requests and points per principal or address (docs/adr/0020). */
@Injectable()
export class RateLimiter {
  private readonly requests: Limit;
  private readonly points: Limit;
  readonly rejections = { requests: 0, points: 0 };

  constructor(
    @Inject(CONFIG) { limits: { requestsPerMinute, pointsPerHour } }: Config,
    private readonly limits: Limits,
  ) {
    this.requests = new Limit('requests', requestsPerMinute, 60);
    this.points = new Limit('points', pointsPerHour, 3600);
  }

  countRequest(caller: Caller): Promise<void> {
    const { requests } = this;
    const message = `Too many requests: ${requests.amount} a minute are answered`;
    return this.take(caller, requests, { amount: 1, cost: null, message });
  }

  /** Charges an operation before it runs; a dry run costs nothing. Throws ServiceError RATE_LIMITED. */
  charge(caller: Caller, { points: cost }: Pick<OperationCost, 'points'>, isDryRun: boolean): Promise<void> {
    const { points } = this;
    const message = `This operation costs ${cost} points, which is more than is left of ${points.amount} an hour`;
    return this.take(caller, points, { amount: isDryRun ? 0 : cost, cost, message });
  }

  private async take(
    { principal, ip, rateLimits }: Caller,
    limit: Limit,
    { amount, cost, message }: { amount: number; cost: number | null; message: string },
  ): Promise<void> {
    const subject = principal?.countedAs ?? networkOf(ip);
    const { isTaken, remaining, reset } = await this.limits.takeOne(limit, subject, amount);
    rateLimits?.push({ limit, remaining, reset, cost });
    if (isTaken) return;
    this.rejections[limit === this.requests ? 'requests' : 'points']++;
    throw new ServiceError('RATE_LIMITED', message, { retryAfter: reset });
  }
}

/** Returns the header fields of draft-ietf-httpapi-ratelimit-headers. */
export function rateLimitHeaders(rateLimits: readonly RateLimitState[]): Record<string, string> {
  if (rateLimits.length === 0) return {};
  const policies = rateLimits.map(({ limit }) => `"${limit.name}";q=${limit.amount};w=${limit.window}`);
  const states = rateLimits.map(
    ({ limit, remaining, reset, cost }) =>
      `"${limit.name}";r=${remaining};t=${reset}${cost === null ? '' : `;directory-cost=${cost}`}`,
  );
  return { 'ratelimit-policy': policies.join(', '), ratelimit: states.join(', ') };
}
