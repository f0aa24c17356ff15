import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../../auth/principal.js';
import { ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { LoadShedder } from '../../graphql/http/load-shedder.js';
import { RateLimiter, type RateLimitState } from '../../graphql/rate-limit/rate-limiter.js';

/** Seconds after which a client may try again to open one stream too many. */
const RETRY_SECONDS = 15;

/** Bounds the open streams of this process. Opening one counts as a request. */
@Injectable()
export class StreamAdmission {
  private readonly byPrincipal = new Map<string, number>();
  private readonly limits: Config['limits'];
  /** Number of open streams. */
  open = 0;
  /** Number of rejections since the start. */
  rejected = 0;

  constructor(
    @Inject(CONFIG) { limits }: Config,
    private readonly limiter: RateLimiter,
    private readonly shedder: LoadShedder,
  ) {
    this.limits = limits;
  }

  /**
   * @returns the function that gives the place back
   * @throws ServiceError RATE_LIMITED, SERVICE_UNAVAILABLE
   */
  async admit(principal: Principal, ip: string, rateLimits: RateLimitState[]): Promise<() => void> {
    if (this.shedder.rejectsUnread(performance.now()))
      throw new ServiceError('SERVICE_UNAVAILABLE', 'The service is overloaded', { retryAfter: 1 });
    await this.limiter.countRequest({ principal, ip, rateLimits });
    const { streams, streamsPerPrincipal } = this.limits;
    const { countedAs } = principal;
    const own = this.byPrincipal.get(countedAs) ?? 0;
    if (own >= streamsPerPrincipal)
      throw this.reject('RATE_LIMITED', `Too many streams: a principal can have ${streamsPerPrincipal}`);
    if (this.open >= streams)
      throw this.reject('SERVICE_UNAVAILABLE', 'Too many streams are open at the moment');
    this.open++;
    this.byPrincipal.set(countedAs, own + 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.release(countedAs);
      isOpen = false;
    };
  }

  private release(countedAs: string): void {
    this.open--;
    const left = (this.byPrincipal.get(countedAs) ?? 1) - 1;
    if (left === 0) this.byPrincipal.delete(countedAs);
    else this.byPrincipal.set(countedAs, left);
  }

  private reject(code: 'RATE_LIMITED' | 'SERVICE_UNAVAILABLE', message: string): ServiceError {
    this.rejected++;
    return new ServiceError(code, message, { retryAfter: RETRY_SECONDS });
  }
}
