import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ServiceError, ServiceUnavailableError } from '../../common/errors.js';
import { Limit } from '../../limits/limit.js';
import { networkOf } from '../../limits/network.js';
import { UnauthenticatedError } from '../authentication.error.js';

/** Milliseconds for which a refusal is repeated: no longer is a token shut out that has become good meanwhile. */
const REPEAT = 5000;
/** Refusals that are remembered at most, and tokens that were good. One takes less than a kilobyte. */
const REMEMBERED = 10_000;
/** Questions that are under way at most. */
const AT_ONCE = 100;
/** Seconds. */
const MINUTE = 60;
/** Tokens refused within a minute, after which the issuer is not asked about others: for one address, and for all. */
const REFUSED_OF_ADDRESS = 100;
const REFUSED_OF_ALL = 1000;
const EVERYBODY = '';

/**
 * Keeps a flood of bad opaque tokens from becoming a flood of questions to their issuer. Tokens are known by their
 * SHA-256. One that was good before is always asked about: nobody is shut out by what others send.
 */
export class BadTokens {
  private readonly refusals = new LRUCache<string, { error: UnauthenticatedError; until: number }>({
    max: REMEMBERED,
  });
  private readonly good = new LRUCache<string, true>({ max: REMEMBERED });
  private readonly underWay = new Map<string, Promise<unknown>>();
  private readonly ofAddress: Limit;
  private readonly ofAll: Limit;

  /** @param clock milliseconds since any instant */
  constructor(private readonly clock: () => number = () => performance.now()) {
    this.ofAddress = new Limit('refused-tokens:address', REFUSED_OF_ADDRESS, MINUTE, clock);
    this.ofAll = new Limit('refused-tokens', REFUSED_OF_ALL, MINUTE, clock);
  }

  /**
   * Asks about a token, unless the answer is known, under way, or too many were bad.
   * @param address where the token comes from
   * @param ask throws UnauthenticatedError when the token is bad
   * @throws UnauthenticatedError, also for a few seconds after
   * @throws ServiceError RATE_LIMITED when too many from the address were bad
   * @throws ServiceUnavailableError when too many are asked about, or were bad, wherever they came from
   */
  async guard<Result>(token: string, address: string, ask: () => Promise<Result>): Promise<Result> {
    const key = hash('sha256', token, 'base64');
    const refusal = this.refusals.get(key);
    if (refusal !== undefined && refusal.until > this.clock()) throw refusal.error;
    const underWay = this.underWay.get(key) as Promise<Result> | undefined;
    if (underWay !== undefined) return underWay;
    const network = networkOf(address);
    this.refuseFlood(key, network);
    const answer = this.note(key, network, ask()).finally(() => this.underWay.delete(key));
    this.underWay.set(key, answer);
    return answer;
  }

  private refuseFlood(key: string, network: string): void {
    if (this.underWay.size >= AT_ONCE) throw tooMany();
    if (this.good.has(key)) return;
    const count = this.ofAddress.take(network, 0);
    if (this.ofAddress.remaining(count) === 0) {
      const retryAfter = this.ofAddress.reset(count);
      throw new ServiceError('RATE_LIMITED', 'Too many bad access tokens were sent from this address', {
        retryAfter,
      });
    }
    if (this.ofAll.remaining(this.ofAll.take(EVERYBODY, 0)) === 0) throw tooMany();
  }

  private async note<Result>(key: string, network: string, answer: Promise<Result>): Promise<Result> {
    try {
      const result = await answer;
      this.good.set(key, true);
      return result;
    } catch (error) {
      if (error instanceof UnauthenticatedError) {
        this.refusals.set(key, { error, until: this.clock() + REPEAT });
        this.ofAddress.take(network, 1);
        this.ofAll.take(EVERYBODY, 1);
      }
      throw error;
    }
  }
}

function tooMany(): ServiceUnavailableError {
  return new ServiceUnavailableError('The identity provider is asked about too many tokens at the moment');
}
