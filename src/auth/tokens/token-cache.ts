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
/** Opaque tokens of an address that may be rejected within a minute. */
const MAX_REJECTIONS = 100;
/** Unknown opaque tokens of an address that are introspected at once. Others wait for them. */
const LANES = 50;

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
  /** Why opaque tokens were rejected. */
  private readonly rejectedTokens = new LRUCache<string, Error>({ max: MAX_TOKENS, ttl: REJECTION_MS });
  private readonly running = new Map<string, Promise<VerifiedToken>>();
  private readonly rejectionsOfNetwork = new Limit('refused-tokens:address', MAX_REJECTIONS, 60);
  /** The key of the last unknown opaque token in each lane of an address. */
  private readonly lanes = new LRUCache<string, string>({ max: MAX_TOKENS });
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
    const rejection = this.rejectedTokens.get(key);
    if (rejection !== undefined) throw rejection;
    const isUnknown = entry === undefined && headerOf(token) === null;
    const verified = this.keep(key, isUnknown ? networkOf(address) : null, verify);
    this.running.set(key, verified);
    return verified;
  }

  get statistics() {
    return { hits: this.hits, misses: this.misses, entries: this.entries.size, bytes: null };
  }

  /** @param network where the rejection of an unknown opaque token counts */
  private async keep(key: string, network: string | null, verify: () => Promise<VerifiedToken>) {
    try {
      if (network !== null) await this.admit(key, network);
      const verified = await verify();
      const from = Date.now();
      this.entries.set(key, { ...verified, from, until: from + verified.cacheFor });
      return verified;
    } catch (error) {
      if (error instanceof UnauthenticatedError) {
        this.entries.delete(key);
        if (network !== null) {
          this.rejectionsOfNetwork.take(network, 1);
          this.rejectedTokens.set(key, error);
        }
      }
      throw error;
    } finally {
      this.running.delete(key);
    }
  }

  /** Waits for the token before it in its lane. Unless that one was judged, the issuer is not asked about this one. */
  private async admit(key: string, network: string): Promise<void> {
    const lane = `${this.misses % LANES} ${network}`;
    const previous = this.running.get(this.lanes.get(lane) ?? '');
    this.lanes.set(lane, key);
    await previous?.catch((error: unknown) => {
      if (!(error instanceof UnauthenticatedError)) throw error;
    });
    const count = this.rejectionsOfNetwork.take(network, 0);
    if (count.remaining > 0) return;
    const message = 'Too many bad access tokens were sent from this address';
    throw new ServiceError('RATE_LIMITED', message, { retryAfter: count.reset });
  }
}
