import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Global,
  Inject,
  Injectable,
  Logger,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import type { RedisClientType } from '@redis/client';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../common/errors.js';
import { Incident } from '../common/incident.js';
import { inTime } from '../common/settles-within.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { RedisConfig } from '../config/settings/service.js';

/** Subjects whose counts are kept, each in about 200 bytes. The least recently seen are dropped first. */
const MAX_SUBJECTS = 100_000;

interface LimitResult {
  readonly isTaken: boolean;
  /** The sum of what has been taken in this window. */
  readonly taken: number;
  /** The end of the window, in milliseconds of `performance.now()`, which no set clock changes. */
  readonly until: number;
}

/** The amount of requests, points or failed logins that each subject may take within a window. */
export class Limit {
  /** `max` would allocate memory for all of them at once, which few services need. */
  private readonly counts = new LRUCache<string, { taken: number; until: number }>({
    maxSize: MAX_SUBJECTS,
    sizeCalculation: () => 1,
  });

  /** `window` has seconds and begins when a subject first takes something; `clock` has milliseconds. */
  constructor(
    readonly name: string,
    readonly amount: number,
    readonly window: number,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** Takes an amount, all of it or nothing. The amount 0 reads the state. */
  take(subject: string, amount: number): LimitResult {
    const now = this.clock();
    const known = this.counts.get(subject);
    const count =
      known !== undefined && known.until > now ? known : { taken: 0, until: now + this.window * 1000 };
    const isTaken = count.taken + amount <= this.amount;
    if (isTaken && amount !== 0) {
      count.taken += amount;
      if (count !== known) this.counts.set(subject, count);
    }
    return { isTaken, taken: count.taken, until: count.until };
  }

  remaining({ taken }: LimitResult): number {
    return Math.max(0, this.amount - taken);
  }

  /** Seconds until the window ends: whole ones, at least one. */
  reset({ until }: LimitResult): number {
    return Math.max(1, Math.ceil((until - this.clock()) / 1000));
  }
}

/** Of the eight groups of an IPv6 address. The owner of the network chooses the other four (RFC 4291 §2.5.4). */
const NETWORK_GROUPS = 4;

/**
 * The subject that is counted for an address: the IPv4 address, even if written as IPv6 (RFC 4291 §2.5.5.2), or
 * the /64 network, whose addresses all belong to one client. Any other text stays as it is.
 * @param address undefined if the client has reset the connection, of which the server then knows no address
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const groups = parsed.parts.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}

/**
 * Takes an amount from a counter, all of it or nothing, atomically. A window is the lifetime of a key. It never lasts longer than
 * it should, although Redis stores the instant of its end, and a clock can be set back.
 */
const TAKE_SCRIPT = `
local amount, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local taken = tonumber(redis.call('GET', KEYS[1]) or 0)
local left = redis.call('PTTL', KEYS[1])
local fits = taken + amount <= limit
if fits and amount > 0 then taken = redis.call('INCRBY', KEYS[1], amount) end
if left < 0 or left > window then
  left = window
  redis.call('PEXPIRE', KEYS[1], window)
end
return {fits and 1 or 0, taken, left}
`;

/** Milliseconds for an answer of Redis. No request waits longer. */
const ANSWER_MS = 150;
/** Milliseconds for a new connection, and between two attempts to reconnect. */
const CONNECT_TIMEOUT_MS = 1000;
const RECONNECT_INTERVAL_MS = 500;
/** Taken from after each connection, because a full Redis and a replica answer reads. */
const PROBE = new Limit('probe', 1_000_000, 1);

/**
 * Takes from limits: in Redis, which all processes of an installation share, and without it in this process (docs/adr/0020). The first
 * answer that is late or an error closes the connection and rejects all requests on it. A new one is used once it has answered a probe.
 */
@Injectable()
export class Limits implements OnModuleInit, OnApplicationShutdown {
  /** Null while Redis cannot be used. */
  private client: RedisClientType | null = null;
  private readonly redis: RedisConfig | null;
  private readonly incident = new Incident(new Logger('Limits'));
  private isStopped = false;

  constructor(@Inject(CONFIG) { redis }: Pick<Config, 'redis'>) {
    this.redis = redis;
  }

  /** Whether other processes take from the same limits. */
  get isShared(): boolean {
    return this.client !== null;
  }

  /** Connects once and waits for the result. If Redis is away, it goes on trying in the background. */
  async onModuleInit(): Promise<void> {
    const failure = this.redis === null ? null : await this.connect(this.redis);
    if (failure !== null) void this.lose(null, failure);
  }

  onApplicationShutdown(): void {
    this.isStopped = true;
    if (this.client?.isOpen === true) this.client.destroy();
    this.client = null;
  }

  /** Takes an amount, all of it or nothing. The amount 0 reads the state. */
  async takeOne(limit: Limit, subject: string, amount: number): Promise<LimitResult> {
    const { client } = this;
    if (client === null) return limit.take(subject, amount);
    try {
      return await inTime(ANSWER_MS, this.takeFrom(client, limit, subject, amount));
    } catch (error) {
      void this.lose(client, describe(error));
      return limit.take(subject, amount);
    }
  }

  private async takeFrom(
    client: RedisClientType,
    { name, amount: most, window }: Limit,
    subject: string,
    amount: number,
  ): Promise<LimitResult> {
    const prefix = this.redis?.prefix ?? '';
    // A hash, because others may read from Redis. Of its 22 characters no two subjects have the same.
    const digest = hash('sha256', `${prefix}:\n${subject}`, 'base64url').slice(0, 22);
    const numbers = [amount, window * 1000, most].map(String);
    const options = { keys: [`${prefix}:${name}:${digest}`], arguments: numbers };
    const [fits, taken, left] = (await client.eval(TAKE_SCRIPT, options)) as unknown as number[];
    return { isTaken: fits === 1, taken: Number(taken), until: performance.now() + Number(left) };
  }

  /** Connects once. Returns why Redis cannot be used, or null. The client never reconnects by itself, because it would repeat requests that were given up. */
  async connect({ url, certificates }: RedisConfig): Promise<string | null> {
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
    while (!this.isStopped && this.redis !== null && !this.isShared) {
      await sleep(RECONNECT_INTERVAL_MS, undefined, { ref: false });
      await this.connect(this.redis);
    }
    if (this.isShared) this.incident.end('Redis is reachable, and limits are shared again');
  }
}

function describe(error: unknown): string {
  const { message = '', code = 'it cannot be reached' } = error as { message?: string; code?: string };
  return message === '' ? code : message;
}

/** Counts failed logins by address, not by account, so that an attacker cannot lock out others. */
@Injectable()
export class FailedLogins {
  private readonly limit: Limit;
  /** Logins that were rejected because of the limit, since the start. */
  rejections = 0;

  constructor(
    @Inject(CONFIG) { limits: { failedLogins } }: Config,
    private readonly limits: Limits,
  ) {
    this.limit = new Limit('failed-logins:address', failedLogins, 15 * 60);
  }

  /**
   * Counts a wrong secret. A right one, of 256 random bits, is accepted after any number of wrong ones, because it cannot be
   * guessed (docs/adr/0020).
   * @throws ServiceError RATE_LIMITED, which does not say that the login failed
   */
  async count(address: string): Promise<void> {
    const result = await this.limits.takeOne(this.limit, networkOf(address), 1);
    if (result.isTaken) return;
    this.rejections++;
    const message = 'Too many logins have failed from this address: try again later';
    throw new ServiceError('RATE_LIMITED', message, { retryAfter: this.limit.reset(result) });
  }
}

@Global()
@Module({ providers: [Limits, FailedLogins], exports: [Limits, FailedLogins] })
export class LimitsModule {}
