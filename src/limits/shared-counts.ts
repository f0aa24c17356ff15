import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { createClient, type RedisClientType } from '@redis/client';
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import { Incident } from '../common/incident.js';
import type { RedisConfig } from '../config/settings/service.js';
import type { LimitResult, Limit, Taking } from './limits.js';

/**
 * Takes an amount from a counter, all of it or nothing, or returns it, atomically. The script of
 * rate-limiter-flexible adds first. A window is the lifetime of a key. It never lasts longer than it should, although Redis stores the
 * instant of its end, and a clock can be set back.
 *
 * KEYS: the counter. ARGV: the amount, negative to return it; the window in seconds; the limit.
 * Returns the sum, above the limit if nothing was taken, and the milliseconds until the window ends.
 */
const TAKE_SCRIPT = `
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
/** Milliseconds for an answer. No request waits longer. */
const ANSWER_MS = 150;
/** Milliseconds for a new connection, and between two attempts to reconnect. */
const CONNECT_TIMEOUT_MS = 1000;
const RECONNECT_INTERVAL_MS = 500;

type Terms = Pick<Limit, 'name' | 'amount' | 'window'>;

/** A limit for the probe. The probe writes, because a full Redis and a replica answer reads. */
const PROBE: Terms = { name: 'probe', amount: 1_000_000, window: 1 };

/**
 * Counts that all processes of an installation share, and texts: by rate-limiter-flexible, in Redis (docs/adr/0020). The first
 * answer that is late or an error closes the connection and rejects all requests on it. Redis is used again once it has answered a
 * probe on a new connection.
 */
export class SharedCounts {
  private readonly limiters = new WeakMap<Terms, RateLimiterRedis>();
  private readonly client: RedisClientType;
  private readonly incident = new Incident(new Logger('Limits'));
  private isConnected = false;
  private isStopped = false;
  /** Why the last connection was lost: the first of several reasons. Null if it was not. */
  private failure: string | null = null;

  constructor(private readonly config: RedisConfig) {
    this.client = buildClient(config);
    this.client.on('error', (error: unknown) => {
      this.lose(error);
    });
  }

  get isUp(): boolean {
    return this.isConnected;
  }

  /** Connects once and waits for the result. If Redis is down, it goes on trying in the background. */
  async start(): Promise<void> {
    if (!(await this.connect())) this.reconnect();
  }

  /** Connects once, to check the settings. Returns why Redis cannot be used, or null. */
  async examine(): Promise<string | null> {
    await this.connect();
    this.stop();
    return this.failure;
  }

  stop(): void {
    this.isStopped = true;
    this.close();
  }

  /**
   * Like Limits.take(), in one round trip. If one is rejected, what was taken after it is returned in a second one.
   * @returns null while Redis is down; rejects if it goes down meanwhile
   */
  take(takings: readonly Taking[]): Promise<readonly LimitResult[]> | null {
    return this.isUp ? this.send(this.takeAll(takings)) : null;
  }

  /** A text that was kept; null if there is none, or if Redis does not return it. */
  findText(name: string): Promise<string | null> {
    return this.attempt(() => this.client.get(`${this.config.prefix}:${name}`));
  }

  /** Keeps a text for all processes, if Redis accepts it. */
  async keepText(name: string, text: string, seconds: number): Promise<void> {
    const expiration = { type: 'EX', value: seconds } as const;
    await this.attempt(() => this.client.set(`${this.config.prefix}:${name}`, text, { expiration }));
  }

  /** The answer; null while Redis is down, or if it rejects the command, for which the account may lack the right. */
  private attempt<Answer>(request: () => Promise<Answer>): Promise<Answer | null> {
    if (!this.isUp) return Promise.resolve(null);
    return this.send(request().catch(() => null)).catch(() => null);
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
    const { prefix } = this.config;
    let limiter = this.limiters.get(terms);
    if (limiter === undefined) {
      limiter = new RateLimiterRedis({
        storeClient: this.client,
        useRedisPackage: true,
        customIncrTtlLuaScript: TAKE_SCRIPT,
        keyPrefix: `${prefix}:${terms.name}`,
        points: terms.amount,
        duration: terms.window,
      });
      this.limiters.set(terms, limiter);
    }
    // A hash, because others may read from Redis.
    const hash = createHash('sha256').update(`${prefix}\n${subject}`).digest();
    const key = hash.subarray(0, HASH_BYTES).toString('base64url');
    const { consumedPoints, msBeforeNext } = await limiter.consume(key, amount).catch(readRejection);
    const isTaken = consumedPoints <= terms.amount;
    // A rejection contains the sum that would be above the limit.
    const taken = isTaken ? consumedPoints : consumedPoints - amount;
    return { isTaken, taken: Math.max(0, taken), until: performance.now() + msBeforeNext };
  }

  /** Waits for an answer. If it is late or an error, this rejects and closes the connection. */
  private async send<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await inTime(answer, ANSWER_MS);
    } catch (error) {
      this.lose(error);
      throw error;
    }
  }

  /** @returns false if it failed, for the reason in `failure`; true if it worked or this was stopped */
  private async connect(): Promise<boolean> {
    if (this.isStopped) return true;
    this.failure = null;
    try {
      await inTime(this.client.connect(), CONNECT_TIMEOUT_MS);
      await this.send(this.takeOne(PROBE, '', 1));
    } catch (error) {
      this.lose(error);
      return false;
    }
    if (this.hasStopped()) this.close();
    else this.isConnected = true;
    return true;
  }

  /** A method, because the value may change during an await. */
  private hasStopped(): boolean {
    return this.isStopped;
  }

  /** Closes the connection and rejects all requests on it. */
  private lose(error: unknown): void {
    const { message = '', code = 'it cannot be reached' } = error as { message?: string; code?: string };
    // Later errors only report that the connection was closed.
    this.failure ??= message === '' ? code : message;
    const wasConnected = this.isConnected;
    this.close();
    if (wasConnected) this.reconnect();
  }

  private close(): void {
    this.isConnected = false;
    try {
      this.client.destroy();
    } catch {
      // It was closed already.
    }
  }

  private reconnect(): void {
    this.incident.note(`Redis is unavailable, so each process counts the limits alone: ${this.failure}`);
    void this.keepConnecting();
  }

  private async keepConnecting(): Promise<void> {
    do await sleep(RECONNECT_INTERVAL_MS, undefined, { ref: false });
    while (!(await this.connect()));
    if (!this.hasStopped()) this.incident.end('Redis is reachable, and limits are shared again');
  }
}

/** The client never reconnects by itself, because it would repeat requests that were given up. */
function buildClient({ url, certificates }: RedisConfig): RedisClientType {
  const socket = { reconnectStrategy: false as const, connectTimeout: CONNECT_TIMEOUT_MS };
  const client: unknown = createClient({
    url,
    socket: url.startsWith('rediss:')
      ? { ...socket, tls: true, ...(certificates === null ? {} : { ca: certificates }) }
      : socket,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
  });
  return client as RedisClientType;
}

/** Rejects after the milliseconds. A busy process reads an answer that has arrived before it gives up. */
function inTime<Answer>(answer: Promise<Answer>, milliseconds: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(() => {
        reject(new Error('it does not answer, or too slowly'));
      });
    }, milliseconds);
    answer
      .finally(() => {
        clearTimeout(timer);
      })
      .then(resolve, reject);
  });
}

/** rate-limiter-flexible rejects with its result if the limit is exceeded. */
function readRejection(reason: unknown): RateLimiterRes {
  if (reason instanceof Error) throw reason;
  return reason as RateLimiterRes;
}
