import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ServiceError, ServiceUnavailableError } from '../../common/errors.js';
import { Limit, networkOf } from '../../limits/limits.js';
import { UnauthenticatedError } from '../authentication.error.js';

/** Time for which a rejection is cached. It is short, because the token may become valid. */
const REJECTION_CACHE_MS = 5000;
/** Rejected tokens, and valid ones, in the caches. One takes less than a kilobyte. */
const MAX_TOKENS = 10_000;
/** Introspections of unknown tokens at the same time: of all addresses, and of one. */
const MAX_CONCURRENT = 100;
const MAX_CONCURRENT_BY_ADDRESS = 50;
const WINDOW_SECONDS = 60;
/** Rejected tokens within a window, after which other tokens are not introspected: of one address, and of all. */
const MAX_REJECTED_BY_ADDRESS = 100;
const MAX_REJECTED = 1000;
const ALL_ADDRESSES = '';

/**
 * Protects the issuer from a flood of invalid opaque tokens. Tokens are identified by their SHA-256. Tokens that were valid
 * before are always introspected, so that a flood does not lock out clients.
 */
export class RejectedTokens {
  private readonly rejections = new LRUCache<string, { error: UnauthenticatedError; until: number }>({
    max: MAX_TOKENS,
  });
  private readonly valid = new LRUCache<string, true>({ max: MAX_TOKENS });
  private readonly running = new Map<string, Promise<unknown>>();
  /** Introspections of unknown tokens, by network. */
  private readonly unknown = new Map<string, number>();
  private unknownInAll = 0;
  private readonly byAddress: Limit;
  private readonly total: Limit;

  /** @param clock milliseconds since any instant */
  constructor(private readonly clock: () => number = () => performance.now()) {
    this.byAddress = new Limit('refused-tokens:address', MAX_REJECTED_BY_ADDRESS, WINDOW_SECONDS, clock);
    this.total = new Limit('refused-tokens', MAX_REJECTED, WINDOW_SECONDS, clock);
  }

  /**
   * Introspects a token, unless the result is cached or on its way, or too many tokens were rejected.
   * @throws UnauthenticatedError, also for a few seconds after
   * @throws ServiceError RATE_LIMITED after too many invalid tokens from the address
   * @throws ServiceUnavailableError if there are too many introspections or invalid tokens in all
   */
  async introspect<Result>(
    token: string,
    address: string,
    introspect: () => Promise<Result>,
  ): Promise<Result> {
    const key = hash('sha256', token, 'base64');
    const rejection = this.rejections.get(key);
    if (rejection !== undefined && rejection.until > this.clock()) throw rejection.error;
    const running = this.running.get(key) as Promise<Result> | undefined;
    if (running !== undefined) return running;
    const network = networkOf(address);
    const isKnown = this.valid.has(key);
    if (!isKnown) {
      this.rejectFlood(network);
      this.countUnknown(network, 1);
    }
    const result = this.note(key, network, introspect()).finally(() => {
      this.running.delete(key);
      if (!isKnown) this.countUnknown(network, -1);
    });
    this.running.set(key, result);
    return result;
  }

  private countUnknown(network: string, more: number): void {
    const count = (this.unknown.get(network) ?? 0) + more;
    if (count === 0) this.unknown.delete(network);
    else this.unknown.set(network, count);
    this.unknownInAll += more;
  }

  private rejectFlood(network: string): void {
    const ofAddress = this.unknown.get(network) ?? 0;
    if (this.unknownInAll >= MAX_CONCURRENT || ofAddress >= MAX_CONCURRENT_BY_ADDRESS) throw tooMany();
    const count = this.byAddress.take(network, 0);
    if (this.byAddress.remaining(count) === 0) {
      const retryAfter = this.byAddress.reset(count);
      throw new ServiceError('RATE_LIMITED', 'Too many bad access tokens were sent from this address', {
        retryAfter,
      });
    }
    if (this.total.remaining(this.total.take(ALL_ADDRESSES, 0)) === 0) throw tooMany();
  }

  private async note<Result>(key: string, network: string, introspection: Promise<Result>): Promise<Result> {
    try {
      const result = await introspection;
      this.valid.set(key, true);
      return result;
    } catch (error) {
      if (error instanceof UnauthenticatedError) {
        this.rejections.set(key, { error, until: this.clock() + REJECTION_CACHE_MS });
        this.byAddress.take(network, 1);
        this.total.take(ALL_ADDRESSES, 1);
      }
      throw error;
    }
  }
}

function tooMany(): ServiceUnavailableError {
  return new ServiceUnavailableError('The identity provider is asked about too many tokens at the moment');
}
