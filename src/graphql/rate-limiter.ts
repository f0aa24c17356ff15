import { Inject, Injectable } from '@nestjs/common';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import type { Principal } from '../auth/principal.js';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { Measure } from './limits.js';
import type { Charge } from './request-context.js';

const MINUTE = 60;
const HOUR = 3600;

/** What the headers of an answer tell of the two limits. */
export interface Standing {
  readonly name: 'requests' | 'points';
  readonly limit: number;
  /** Seconds over which it is counted. */
  readonly window: number;
  readonly remaining: number;
  /** Seconds until it is whole again. */
  readonly reset: number;
}

/** Too much was asked for within the window: 429, with what the headers tell. */
export class RateLimitedError extends ServiceError {
  constructor(
    message: string,
    readonly standing: Standing,
  ) {
    super('RATE_LIMITED', message, { retryAfter: standing.reset });
  }
}

/** Counts requests and points: per principal, or per address where nobody said who they are. */
@Injectable()
export class RateLimiter {
  private readonly requests: RateLimiterMemory;
  private readonly points: RateLimiterMemory;

  constructor(@Inject(CONFIG) private readonly config: Config) {
    const { requestsPerMinute, pointsPerHour } = config.limits;
    this.requests = new RateLimiterMemory({
      keyPrefix: 'requests',
      points: requestsPerMinute,
      duration: MINUTE,
    });
    this.points = new RateLimiterMemory({ keyPrefix: 'points', points: pointsPerHour, duration: HOUR });
  }

  /** @throws RateLimitedError when this request is one too many */
  async countRequest(who: string): Promise<Standing> {
    const limit = this.config.limits.requestsPerMinute;
    const { accepted, result } = await consume(this.requests, who, 1);
    const standing: Standing = { name: 'requests', limit, window: MINUTE, ...left(limit, result) };
    if (!accepted) {
      throw new RateLimitedError(`Too many requests: ${limit} a minute are answered`, {
        ...standing,
        remaining: 0,
      });
    }
    return standing;
  }

  /**
   * Takes the price of an operation before it runs; a rehearsal takes nothing.
   * @throws RateLimitedError when it is more than the caller has left
   */
  async charge(who: string, { cost, nodeCount }: Measure, rehearsal: boolean): Promise<Charge> {
    const limit = this.config.limits.pointsPerHour;
    const { accepted, result } = await consume(this.points, who, rehearsal ? 0 : cost);
    if (!accepted) {
      await this.points.reward(who, cost);
      const standing: Standing = { name: 'points', limit, window: HOUR, ...left(limit, result) };
      throw new RateLimitedError(
        `This operation costs ${cost} points, which is more than is left of ${limit} an hour`,
        { ...standing, remaining: Math.max(0, limit - result.consumedPoints + cost) },
      );
    }
    const { remaining, reset } = left(limit, result);
    return { limit, cost, remaining, nodeCount, resetAt: new Date(Date.now() + reset * 1000) };
  }
}

/** Who is counted: several tokens of one subject and client are one caller. */
export function countedAs(principal: Principal | null, address: string): string {
  return principal?.countedAs ?? `address:${address}`;
}

async function consume(
  limiter: RateLimiterMemory,
  key: string,
  points: number,
): Promise<{ accepted: boolean; result: RateLimiterRes }> {
  try {
    return { accepted: true, result: await limiter.consume(key, points) };
  } catch (refused) {
    if (refused instanceof Error) throw refused;
    return { accepted: false, result: refused as RateLimiterRes };
  }
}

function left(
  limit: number,
  { consumedPoints, msBeforeNext }: RateLimiterRes,
): Pick<Standing, 'remaining' | 'reset'> {
  return {
    remaining: Math.max(0, limit - consumedPoints),
    reset: Math.max(1, Math.ceil(msBeforeNext / 1000)),
  };
}
