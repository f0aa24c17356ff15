import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../common/errors.js';
import { Limit, networkOf } from '../../limits/limits.js';
import { UnauthenticatedError } from '../authentication.error.js';
import { headerOf, type VerifiedToken } from './token-verifier.js';

/** One entry takes about a kilobyte. */
const MAX_TOKENS = 10_000;
/** Opaque tokens of an address that are being introspected or were rejected within a minute. */
const MAX_REJECTED = 100;

/** A verified token, and between which times it is used. An entry stays afterwards: its token was valid before. */
interface Entry extends VerifiedToken {
  readonly from: number;
  readonly until: number;
}

/**
 * Access tokens, by their SHA-256: the tokens themselves are not stored. It protects the issuer from a flood of invalid opaque
 * tokens. Tokens that were valid before are always introspected, so that a flood does not lock out clients.
 */
@Injectable()
export class TokenCache {
  private readonly entries = new LRUCache<string, Entry>({ max: MAX_TOKENS });
  private readonly running = new Map<string, Promise<VerifiedToken>>();
  private readonly rejected = new Limit('refused-tokens:address', MAX_REJECTED, 60);
  private hits = 0;
  private misses = 0;

  /**
   * The cached token, or else the verified one, which is cached for as long as it says.
   * @param address of the client
   * @throws ServiceError RATE_LIMITED after too many invalid opaque tokens from the address
   */
  async findOrVerify(
    token: string,
    address: string,
    verify: () => Promise<VerifiedToken>,
  ): Promise<VerifiedToken> {
    const key = hash('sha256', token, 'base64');
    const entry = this.entries.get(key);
    const now = Date.now();
    // Earlier than the verification: the clock was set back.
    if (entry !== undefined && entry.from <= now && now < entry.until) {
      this.hits++;
      return entry;
    }
    this.misses++;
    const running = this.running.get(key);
    if (running !== undefined) return running;
    const counted = entry === undefined && headerOf(token) === null ? networkOf(address) : null;
    if (counted !== null) this.count(counted);
    const verified = this.keep(key, counted, verify);
    this.running.set(key, verified);
    return verified;
  }

  get statistics() {
    const { hits, misses, entries } = this;
    return { hits, misses, entries: entries.size, bytes: null };
  }

  private count(network: string): void {
    const count = this.rejected.take(network, 1);
    if (count.isTaken) return;
    const message = 'Too many bad access tokens were sent from this address';
    throw new ServiceError('RATE_LIMITED', message, { retryAfter: this.rejected.reset(count) });
  }

  /** @param counted where the token is counted until it is known that it is valid, or that the issuer cannot be asked */
  private async keep(key: string, counted: string | null, verify: () => Promise<VerifiedToken>) {
    let isRejected = false;
    try {
      const verified = await verify();
      const from = Date.now();
      this.entries.set(key, { ...verified, from, until: from + verified.cacheFor });
      return verified;
    } catch (error) {
      isRejected = error instanceof UnauthenticatedError;
      throw error;
    } finally {
      this.running.delete(key);
      if (isRejected) this.entries.delete(key);
      else if (counted !== null) this.rejected.take(counted, -1);
    }
  }
}
