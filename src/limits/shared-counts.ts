import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { RedisClientType } from '@redis/client';
import { Incident } from '../common/incident.js';
import { inTime } from '../common/settles-within.js';
import type { RedisConfig } from '../config/settings/service.js';

/** A limit: what each subject may take within a window of seconds, which begins when a subject first takes something. */
export interface Terms {
  readonly name: string;
  readonly amount: number;
  readonly window: number;
}

export interface LimitResult {
  readonly isTaken: boolean;
  /** The sum of what has been taken in this window. */
  readonly taken: number;
  /** The end of the window, in milliseconds of `performance.now()`, which no set clock changes. */
  readonly until: number;
}

/**
 * Takes an amount from a counter, all of it or nothing, atomically. A window is the lifetime of a key. It never lasts longer than
 * it should, although Redis stores the instant of its end, and a clock can be set back.
 *
 * KEYS: the counter. ARGV: the amount; the window in milliseconds; the limit.
 * Returns 1 if it was taken, the sum, and the milliseconds until the window ends.
 */
const TAKE_SCRIPT = `
local taken = tonumber(redis.call('GET', KEYS[1]) or 0)
local left = redis.call('PTTL', KEYS[1])
local amount, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local fits = taken + amount <= tonumber(ARGV[3])
if fits and amount > 0 then taken = redis.call('INCRBY', KEYS[1], amount) end
if left < 0 or left > window then
  left = window
  redis.call('PEXPIRE', KEYS[1], window)
end
return {fits and 1 or 0, taken, left}
`;

/** Milliseconds for an answer. No request waits longer. */
const ANSWER_MS = 150;
/** Milliseconds for a new connection, and between two attempts to reconnect. */
const CONNECT_TIMEOUT_MS = 1000;
const RECONNECT_INTERVAL_MS = 500;
/** A limit for the probe. The probe writes, because a full Redis and a replica answer reads. */
const PROBE = { name: 'probe', amount: 1_000_000, window: 1 };

/**
 * Counts that all processes of an installation share, in Redis (docs/adr/0020). The first answer that is late or an
 * error closes the connection and rejects all requests on it. A new one is used once it has answered a probe.
 */
export class SharedCounts implements OnModuleInit, OnApplicationShutdown {
  /** Null while Redis cannot be used. */
  private client: RedisClientType | null = null;
  private readonly incident = new Incident(new Logger('Limits'));
  private isStopped = false;

  constructor(private readonly config: RedisConfig) {}

  get isUp(): boolean {
    return this.client !== null;
  }

  /** Connects once and waits for the result. If Redis is away, it goes on trying in the background. */
  async onModuleInit(): Promise<void> {
    const failure = await this.connect();
    if (failure !== null) void this.lose(null, failure);
  }

  onApplicationShutdown(): void {
    this.isStopped = true;
    if (this.client?.isOpen === true) this.client.destroy();
    this.client = null;
  }

  /** Connects once, to check the settings. Returns why Redis cannot be used, or null. */
  async examine(): Promise<string | null> {
    const failure = await this.connect();
    this.onApplicationShutdown();
    return failure;
  }

  /** Like Limit.take(). Null while Redis is away; rejects if it goes away meanwhile. */
  take(limit: Terms, subject: string, amount: number): Promise<LimitResult> | null {
    const { client } = this;
    if (client === null) return null;
    return inTime(ANSWER_MS, this.takeFrom(client, limit, subject, amount)).catch((error: unknown) => {
      void this.lose(client, describe(error));
      throw error;
    });
  }

  private async takeFrom(
    client: RedisClientType,
    { name, amount: most, window }: Terms,
    subject: string,
    amount: number,
  ): Promise<LimitResult> {
    const { prefix } = this.config;
    // A hash, because others may read from Redis. Of its 22 characters no two subjects have the same.
    const digest = hash('sha256', `${prefix}:\n${subject}`, 'base64url').slice(0, 22);
    const numbers = [amount, window * 1000, most].map(String);
    const options = { keys: [`${prefix}:${name}:${digest}`], arguments: numbers };
    const [fits, taken, left] = (await client.eval(TAKE_SCRIPT, options)) as unknown as number[];
    return { isTaken: fits === 1, taken: Number(taken), until: performance.now() + Number(left) };
  }

  /** Returns why Redis cannot be used, or null. The client never reconnects by itself, because it would repeat requests that were given up. */
  private async connect(): Promise<string | null> {
    const { url, certificates } = this.config;
    // It takes a tenth of a second to load.
    const { createClient } = await import('@redis/client');
    const socket = { reconnectStrategy: false as const, connectTimeout: CONNECT_TIMEOUT_MS };
    const tls = { tls: true as const, ...(certificates === null ? {} : { ca: certificates }) };
    const client = createClient({
      url,
      socket: url.startsWith('rediss:') ? { ...socket, ...tls } : socket,
      disableOfflineQueue: true,
      maintNotifications: 'disabled',
    }) as unknown as RedisClientType;
    client.on('error', (error: unknown) => void this.lose(client, describe(error)));
    try {
      await inTime(CONNECT_TIMEOUT_MS, client.connect());
      await inTime(ANSWER_MS, this.takeFrom(client, PROBE, '', 1));
      if (this.isStopped) client.destroy();
      else this.client = client;
      return null;
    } catch (error) {
      if (client.isOpen) client.destroy();
      return describe(error);
    }
  }

  /** Goes on without Redis until it can be used again. Later errors of a connection only report that it was closed. */
  private async lose(client: RedisClientType | null, reason: string): Promise<void> {
    if (client !== this.client) return;
    this.client = null;
    if (client?.isOpen === true) client.destroy();
    this.incident.note(`Redis is unavailable, so each process counts the limits alone: ${reason}`);
    while (!this.isStopped && !this.isUp) {
      await sleep(RECONNECT_INTERVAL_MS, undefined, { ref: false });
      await this.connect();
    }
    if (this.isUp) this.incident.end('Redis is reachable, and limits are shared again');
  }
}

function describe(error: unknown): string {
  const { message = '', code = 'it cannot be reached' } = error as { message?: string; code?: string };
  return message === '' ? code : message;
}
