import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../common/errors.js';
import { Limit, networkOf } from '../../limits/limits.js';
import { UnauthenticatedError } from '../authentication.error.js';
import { headerOf, type VerifiedToken } from './token-verifier.js';

const MAX_TOKENS = 10_000;
/** Milliseconds for which a rejected opaque token is not introspected again. */
const REJECTION_MS = 5000;
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
  private readonly bad = new LRUCache<string, UnauthenticatedError>({ max: MAX_TOKENS, ttl: REJECTION_MS });
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
    const bad = this.bad.get(key);
    if (bad !== undefined) throw bad;
    const counted = entry === undefined && headerOf(token) === null ? networkOf(address) : null;
    if (counted !== null) {
      const count = this.rejected.take(counted, 1);
      const message = 'Too many bad access tokens were sent from this address';
      if (!count.isTaken)
        throw new ServiceError('RATE_LIMITED', message, { retryAfter: this.rejected.reset(count) });
    }
    const verified = this.keep(key, counted, verify);
    this.running.set(key, verified);
    return verified;
  }

  get statistics() {
    return { hits: this.hits, misses: this.misses, entries: this.entries.size, bytes: null };
  }

  /** @param counted where the token is counted until it is known that it is valid, or that the issuer cannot be asked */
  private async keep(key: string, counted: string | null, verify: () => Promise<VerifiedToken>) {
    let rejection: UnauthenticatedError | null = null;
    try {
      const verified = await verify();
      const from = Date.now();
      this.entries.set(key, { ...verified, from, until: from + verified.cacheFor });
      return verified;
    } catch (error) {
      if (error instanceof UnauthenticatedError) rejection = error;
      throw error;
    } finally {
      this.running.delete(key);
      if (rejection !== null) this.entries.delete(key);
      if (rejection !== null && counted !== null) this.bad.set(key, rejection);
      else if (counted !== null) this.rejected.take(counted, -1);
    }
  }
}
