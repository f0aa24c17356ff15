import { createHash } from 'node:crypto';
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import type { RedisConfig } from '../config/settings/redis.js';
import type { LimitResult, Limit, Taking } from './limits.js';
import { RedisLink } from './redis-link.js';

/**
 * Takes an amount from a counter, all of it or nothing, or returns it, atomically. The script of
 * rate-limiter-flexible adds first. A window is the lifetime of a key. It never lasts longer than it should, although Redis stores the
 * instant of its end, and a clock can be set back.
 *
 * KEYS: the counter. ARGV: the amount, negative to return it; the window in seconds; the limit.
 * Returns the sum, above the limit if nothing was taken, and the milliseconds until the window ends.
 */
export const TAKE_SCRIPT = `
local taken = tonumber(redis.call('GET', KEYS[1]) or 0)
local after = taken + tonumber(ARGV[1])
local window = 1000 * ARGV[2]
if after ~= taken and after >= 0 and after <= tonumber(ARGV[3]) then
  redis.call('INCRBY', KEYS[1], ARGV[1])
end
local left = redis.call('PTTL', KEYS[1])
if left == -1 or left > window then redis.call('PEXPIRE', KEYS[1], window) end
return {after, (left < 0 or left > window) and window or left}
`;

/** Bytes of the hash of a subject: enough that two subjects never have the same. */
const HASH_BYTES = 16;

type Terms = Pick<Limit, 'name' | 'amount' | 'window'>;

/** A limit for the probe. The probe writes, because a full Redis and a replica answer reads. */
const PROBE: Terms = { name: 'probe', amount: 1_000_000, window: 1 };

/** Counts that all processes of an installation share, and texts: by rate-limiter-flexible, in Redis (docs/adr/0020). */
export class SharedCounts extends RedisLink {
  private readonly limiters = new WeakMap<Terms, RateLimiterRedis>();

  constructor(private readonly config: RedisConfig) {
    super(config);
  }

  protected override probe(): Promise<unknown> {
    return this.takeOne(PROBE, '', 1);
  }

  /**
   * Like Limits.take(), in one round trip. If one is rejected, what was taken after it is returned in a second one.
   * @returns null while Redis is down; rejects if it goes down meanwhile
   */
  take(takings: readonly Taking[]): Promise<readonly LimitResult[]> | null {
    return this.isUp ? this.send(() => this.takeAll(takings)) : null;
  }

  /** A text that was kept; null if there is none, or if Redis does not return it. */
  findText(name: string): Promise<string | null> {
    return this.attempt(() => this.client.get(this.nameOf(name)));
  }

  /** Keeps a text for all processes, if Redis accepts it. */
  async keepText(name: string, text: string, seconds: number): Promise<void> {
    const expiration = { type: 'EX', value: seconds } as const;
    await this.attempt(() => this.client.set(this.nameOf(name), text, { expiration }));
  }

  /** The answer; null while Redis is down, or if it rejects the command, for which the account may lack the right. */
  private attempt<Answer>(request: () => Promise<Answer>): Promise<Answer | null> {
    if (!this.isUp) return Promise.resolve(null);
    return this.send(() => request().catch(() => null)).catch(() => null);
  }

  private async takeAll(takings: readonly Taking[]): Promise<readonly LimitResult[]> {
    const takeOne = ({ limit, subject, amount }: Taking) => this.takeOne(limit, subject, amount);
    const counts = await Promise.all(takings.map(takeOne));
    const end = counts.findIndex(({ isTaken }) => !isTaken) + 1;
    if (end === 0 || end === counts.length) return counts;
    const given = takings.slice(end).map((taking, index) => {
      const isTaken = counts[end + index]?.isTaken === true;
      return takeOne({ ...taking, amount: isTaken ? -taking.amount : 0 });
    });
    const rest = (await Promise.all(given)).map((count) => ({ ...count, isTaken: false }));
    return [...counts.slice(0, end), ...rest];
  }

  /** @param amount negative to return it */
  private async takeOne(terms: Terms, subject: string, amount: number): Promise<LimitResult> {
    const { consumedPoints, msBeforeNext } = await this.limiterOf(terms)
      .consume(this.keyOf(subject), amount)
      .catch(readRejection);
    const isTaken = consumedPoints <= terms.amount;
    // A rejection contains the sum that would be above the limit.
    const taken = isTaken ? consumedPoints : consumedPoints - amount;
    return { isTaken, taken: Math.max(0, taken), until: performance.now() + msBeforeNext };
  }

  private limiterOf(terms: Terms): RateLimiterRedis {
    let limiter = this.limiters.get(terms);
    if (limiter === undefined) {
      limiter = new RateLimiterRedis({
        storeClient: this.client,
        useRedisPackage: true,
        customIncrTtlLuaScript: TAKE_SCRIPT,
        keyPrefix: `${this.config.prefix}:${terms.name}`,
        points: terms.amount,
        duration: terms.window,
      });
      this.limiters.set(terms, limiter);
    }
    return limiter;
  }

  private nameOf(name: string): string {
    return `${this.config.prefix}:${name}`;
  }

  /** A hash, because others may read from Redis. */
  private keyOf(subject: string): string {
    const hash = createHash('sha256').update(`${this.config.prefix}\n${subject}`).digest();
    return hash.subarray(0, HASH_BYTES).toString('base64url');
  }
}

/** rate-limiter-flexible rejects with its result if the limit is exceeded. */
function readRejection(reason: unknown): RateLimiterRes {
  if (reason instanceof Error) throw reason;
  return reason as RateLimiterRes;
}
