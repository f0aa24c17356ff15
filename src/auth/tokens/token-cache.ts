import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { CacheStatistics } from '../../common/cache-statistics.js';
import type { Credentials } from '../authorization-header.js';
import type { VerifiedToken } from './token-verifier.js';

/** One entry takes about a kilobyte. */
const MAX_TOKENS = 10_000;

/** Verified tokens, by the SHA-256 of scheme and token: the tokens themselves are not stored. */
@Injectable()
export class TokenCache {
  private readonly verified = new LRUCache<string, VerifiedToken>({ max: MAX_TOKENS });
  private hits = 0;
  private misses = 0;

  find(credentials: Credentials): VerifiedToken | undefined {
    const token = this.verified.get(keyOf(credentials));
    if (token === undefined || !isValid(token)) return undefined;
    this.hits++;
    return token;
  }

  /** The cached token, or else the verified one, which is cached for as long as it says. */
  async findOrVerify(credentials: Credentials, verify: () => Promise<VerifiedToken>): Promise<VerifiedToken> {
    const cached = this.find(credentials);
    if (cached !== undefined) return cached;
    this.misses++;
    const token = await verify();
    if (isValid(token)) this.verified.set(keyOf(credentials), token);
    return token;
  }

  get statistics(): CacheStatistics {
    const { hits, misses, verified } = this;
    return { hits, misses, entries: verified.size, bytes: null };
  }
}

/** The same for each spelling of the scheme and any number of spaces. */
function keyOf({ scheme, token }: Credentials): string {
  return hash('sha256', `${scheme} ${token}`, 'base64');
}

function isValid({ cacheFrom, cacheUntil }: VerifiedToken): boolean {
  const now = Date.now();
  return cacheFrom <= now && now < cacheUntil;
}
