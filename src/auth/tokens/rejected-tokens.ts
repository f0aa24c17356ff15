import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../common/errors.js';
import { Limit, networkOf } from '../../limits/limits.js';
import { UnauthenticatedError } from '../authentication.error.js';

/** Time for which a rejection is cached. It is short, because the token may become valid. */
const REJECTION_CACHE_MS = 5000;
/** Rejected tokens, and valid ones, in the caches. One takes less than a kilobyte. */
const MAX_TOKENS = 10_000;
/** Tokens of an address that are being introspected or were rejected within a window. */
const MAX_REJECTED = 100;
const WINDOW_SECONDS = 60;

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
  private readonly limit: Limit;

  /** @param clock milliseconds since any instant */
  constructor(private readonly clock: () => number = () => performance.now()) {
    this.limit = new Limit('refused-tokens:address', MAX_REJECTED, WINDOW_SECONDS, clock);
  }

  /**
   * Introspects a token, unless the result is cached or on its way, or too many tokens were rejected.
   * @throws UnauthenticatedError, also for a few seconds after
   * @throws ServiceError RATE_LIMITED after too many invalid tokens from the address
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
    const release = this.valid.has(key) ? () => undefined : this.take(networkOf(address));
    const result = this.note(key, introspect(), release).finally(() => this.running.delete(key));
    this.running.set(key, result);
    return result;
  }

  /** @returns the function that gives back what a token has taken that was not rejected */
  private take(network: string): () => void {
    const { limit } = this;
    const count = limit.take(network, 1);
    if (!count.isTaken) {
      const retryAfter = limit.reset(count);
      throw new ServiceError('RATE_LIMITED', 'Too many bad access tokens were sent from this address', {
        retryAfter,
      });
    }
    return () => {
      const { taken, until } = limit.take(network, 0);
      limit.note(network, { isTaken: true, taken: Math.max(0, taken - 1), until });
    };
  }

  private async note<Result>(key: string, asked: Promise<Result>, release: () => void): Promise<Result> {
    try {
      const result = await asked;
      this.valid.set(key, true);
      release();
      return result;
    } catch (error) {
      if (error instanceof UnauthenticatedError)
        this.rejections.set(key, { error, until: this.clock() + REJECTION_CACHE_MS });
      else release();
      throw error;
    }
  }
}
