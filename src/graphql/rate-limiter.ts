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
  /** The price of this operation, where that is what is counted. */
  readonly cost?: number;
}

/** Who is counted, and where it is noted what the answer tells of it: a request of the endpoint. */
export interface Caller {
  /** Several tokens of one subject and client are one caller; without a token, the address is. */
  readonly principal: Principal | null;
  readonly ip: string;
  readonly standings: Standing[] | null;
}

/** Too much was asked for within the window. */
function rateLimited(message: string, { reset }: Standing): ServiceError {
  return new ServiceError('RATE_LIMITED', message, { retryAfter: reset });
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

  /** @throws ServiceError RATE_LIMITED when this request is one too many */
  async countRequest(caller: Caller): Promise<void> {
    const limit = this.config.limits.requestsPerMinute;
    const { accepted, result } = await consume(this.requests, keyOf(caller), 1);
    const standing: Standing = { name: 'requests', limit, window: MINUTE, ...left(limit, result) };
    caller.standings?.push(standing);
    if (!accepted) throw rateLimited(`Too many requests: ${limit} a minute are answered`, standing);
  }

  /**
   * Takes the price of an operation before it runs; a rehearsal takes nothing.
   * @throws ServiceError RATE_LIMITED when it is more than the caller has left
   */
  async charge(caller: Caller, { cost, nodeCount }: Measure, rehearsal: boolean): Promise<Charge> {
    const limit = this.config.limits.pointsPerHour;
    const key = keyOf(caller);
    const { accepted, result } = await consume(this.points, key, rehearsal ? 0 : cost);
    const { remaining, reset } = left(
      limit,
      // What was refused is not paid for.
      accepted ? result : await this.points.reward(key, cost),
    );
    const standing: Standing = { name: 'points', limit, window: HOUR, remaining, reset, cost };
    caller.standings?.push(standing);
    if (!accepted) {
      const message = `This operation costs ${cost} points, which is more than is left of ${limit} an hour`;
      throw rateLimited(message, standing);
    }
    return { limit, cost, remaining, nodeCount, resetAt: new Date(Date.now() + reset * 1000) };
  }
}

function keyOf({ principal, ip }: Caller): string {
  return principal?.countedAs ?? `address:${ip}`;
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
