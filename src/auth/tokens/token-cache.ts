import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../common/errors.js';
import { Limit, networkOf } from '../../limits/limits.js';
import { UnauthenticatedError } from '../authentication.error.js';
import { CLOCK_TOLERANCE } from './claims.js';
import { isJwt, type VerifiedToken } from './token-verifier.js';

/** One entry takes about a kilobyte. */
const MAX_TOKENS = 10_000;
/** Time for which a rejection is cached. It is short, because the token may become valid. */
const REJECTION_MS = 5000;
/** Opaque tokens of an address that are being introspected or were rejected within a minute. */
const MAX_REJECTED = 100;

/** A verified token, or why an opaque one was rejected. */
interface Entry {
  readonly found: VerifiedToken | UnauthenticatedError;
  /** In milliseconds of `performance.now()`. An entry stays afterwards: its token was valid before. */
  readonly until: number;
  /** Where the clock was. After a leap of the clock, the token is verified again. */
  readonly clock: number;
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
   * @throws UnauthenticatedError, for opaque tokens also for a few seconds after
   * @throws ServiceError RATE_LIMITED after too many invalid tokens from the address
   */
  async findOrVerify(
    token: string,
    address: string,
    verify: () => Promise<VerifiedToken>,
  ): Promise<VerifiedToken> {
    const key = hash('sha256', token, 'base64');
    const entry = this.entries.get(key);
    const hasLeapt = Math.abs(clockOffset() - (entry?.clock ?? 0)) >= CLOCK_TOLERANCE * 1000;
    if (entry !== undefined && entry.until > performance.now() && !hasLeapt) {
      this.hits++;
      if (entry.found instanceof Error) throw entry.found;
      return entry.found;
    }
    this.misses++;
    const isOpaque = !isJwt(token);
    const wasValid = entry !== undefined && !(entry.found instanceof Error);
    const counted = isOpaque && !wasValid ? () => this.count(networkOf(address), verify) : verify;
    const verified =
      this.running.get(key) ?? this.keep(key, isOpaque, counted).finally(() => this.running.delete(key));
    this.running.set(key, verified);
    return verified;
  }

  get statistics() {
    const { hits, misses, entries } = this;
    return { hits, misses, entries: entries.size, bytes: null };
  }

  private async keep(
    key: string,
    isOpaque: boolean,
    verify: () => Promise<VerifiedToken>,
  ): Promise<VerifiedToken> {
    const set = (found: Entry['found'], milliseconds: number) =>
      this.entries.set(key, { found, until: performance.now() + milliseconds, clock: clockOffset() });
    try {
      const token = await verify();
      set(token, token.cacheFor);
      return token;
    } catch (error) {
      if (isOpaque && error instanceof UnauthenticatedError) set(error, REJECTION_MS);
      throw error;
    }
  }

  /** Counts a token for the network until it is known that it is valid, or that the issuer cannot be asked. */
  private async count(network: string, verify: () => Promise<VerifiedToken>): Promise<VerifiedToken> {
    const count = this.rejected.take(network, 1);
    if (!count.isTaken) {
      const message = 'Too many bad access tokens were sent from this address';
      throw new ServiceError('RATE_LIMITED', message, { retryAfter: this.rejected.reset(count) });
    }
    let isRejected = false;
    try {
      return await verify();
    } catch (error) {
      isRejected = error instanceof UnauthenticatedError;
      throw error;
    } finally {
      if (!isRejected) this.rejected.take(network, -1);
    }
  }
}

/** Where the clock is, in milliseconds, apart from the time that passes. */
const clockOffset = () => Date.now() - performance.now();
