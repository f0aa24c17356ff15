import cluster from 'node:cluster';
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Global, Inject, Injectable, Logger, Module } from '@nestjs/common';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { RedisClientType } from '@redis/client';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../common/errors.js';
import { codeOf } from '../common/finding.js';
import { Incident } from '../common/incident.js';
import { inTime } from '../common/settles-within.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';

interface LimitResult {
  readonly isTaken: boolean;
  readonly remaining: number;
  /** Seconds until the window ends: whole ones, at least one. */
  readonly reset: number;
}

/** What a subject has taken until an instant of `performance.now()`. `left`: what a process of a cluster has of it in advance. */
interface Count {
  taken: number;
  until: number;
  left: number;
}

/** The amount of requests, points or failed logins that each subject may take within a window. */
export class Limit {
  /** About 200 bytes each. The least recently seen are dropped first. `max` would allocate memory for all at once. */
  readonly counts = new LRUCache<string, Count>({ maxSize: 100_000, sizeCalculation: () => 1 });

  /** `window` has seconds and begins when a subject first takes something; `clock` has milliseconds. */
  constructor(
    readonly name: string,
    readonly amount: number,
    readonly window: number,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  countOf(subject: string): Count {
    const now = this.clock();
    const known = this.counts.get(subject);
    if (known !== undefined && known.until > now) return known;
    return { taken: 0, until: now + this.window * 1000, left: 0 };
  }

  /** Takes an amount, all of it or nothing. The amount 0 reads the state. */
  take(subject: string, amount: number): LimitResult {
    const count = this.countOf(subject);
    const isTaken = count.taken + amount <= this.amount;
    if (isTaken && amount !== 0) {
      count.taken += amount;
      this.counts.set(subject, count);
    }
    return this.describe(isTaken, count);
  }

  describe(isTaken: boolean, { taken, until, left }: Count): LimitResult {
    const reset = Math.max(1, Math.ceil((until - this.clock()) / 1000));
    return { isTaken, remaining: Math.max(0, this.amount - taken + left), reset };
  }
}

/**
 * The subject that is counted for an address: the IPv4 address, even if written as IPv6 (RFC 4291 §2.5.5.2), or the /64 network, whose
 * owner chooses the other half (§2.5.4). Other text stays as it is. Of a client that has reset its connection no address is known.
 */
export function networkOf(address = 'unknown'): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const groups = parsed.parts.map((group) => group.toString(16));
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** Takes all of an amount or nothing. A window is the lifetime of a key: of Redis, whose clock can be set back, no longer than it should. */
const TAKE_SCRIPT = `
local amount, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local taken = tonumber(redis.call('GET', KEYS[1]) or 0)
local left = redis.call('PTTL', KEYS[1])
local fits = taken + amount <= limit
if fits and amount > 0 then taken = redis.call('INCRBY', KEYS[1], amount) end
if left < 0 or left > window then redis.call('PEXPIRE', KEYS[1], window) left = window end
return {fits and 1 or 0, taken, left}
`;

/** Milliseconds for an answer of Redis. No request waits longer. */
const ANSWER_MS = 150;
/** Milliseconds for a new connection, and between two attempts to reconnect. */
const [CONNECT_TIMEOUT_MS, RECONNECT_INTERVAL_MS] = [1000, 500];

/** Name, amount and window of a limit, the subject, and what it takes. */
export type Take = readonly [string, number, number, string, number];
/** Whether it is taken, what is taken until when, in milliseconds from now, and what is taken in advance. */
export type Taken = readonly [boolean, number, number, number];

/**
 * Takes from limits: in Redis, which all processes of an installation share, and without it in the first process of a cluster, or in
 * this one (docs/adr/0020). The first answer that is late or an error closes the connection. A new one must answer a probe first.
 */
@Injectable()
export class Limits implements OnModuleInit, OnApplicationShutdown {
  /** Null while Redis cannot be used. */
  private client: RedisClientType | null = null;
  private readonly takes: Take[] = [];
  private readonly waiting: ((taken: Taken) => void)[] = [];
  private readonly incident = new Incident(new Logger('Limits'));
  private isStopped = false;

  constructor(@Inject(CONFIG) private readonly config: Pick<Config, 'redis'>) {
    if (!cluster.isWorker) return;
    process.on('message', ({ results = [] }: { results?: readonly Taken[] }) => {
      for (const result of results) this.waiting.shift()?.(result);
    });
  }

  /** Whether Redis counts, thus for all machines. */
  get isShared(): boolean {
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

  /** Takes an amount, all of it or nothing. The amount 0 reads the state. */
  async takeOne(limit: Limit, subject: string, amount: number): Promise<LimitResult> {
    const { client } = this;
    try {
      if (client !== null) return await inTime(ANSWER_MS, this.takeFrom(client, limit, subject, amount));
    } catch (error) {
      void this.lose(client, describe(error));
    }
    return cluster.isWorker ? this.takeFromFirst(limit, subject, amount) : limit.take(subject, amount);
  }

  /** Takes from what the first process of a cluster counts. One message asks for all that a turn of the event loop takes. */
  private async takeFromFirst(limit: Limit, subject: string, amount: number): Promise<LimitResult> {
    const before = limit.countOf(subject);
    const used = Math.min(amount, before.left);
    before.left -= used;
    if (before.left > 0) return limit.describe(true, before);
    // Without the first process, this one is about to end.
    const ask = () => process.send?.({ takes: this.takes.splice(0) }, undefined, undefined, () => undefined);
    const { name, amount: most, window } = limit;
    if (this.takes.push([name, most, window, subject, amount - used]) === 1) setImmediate(ask);
    const [fits, taken, time, advance] = await new Promise<Taken>((resolve) => this.waiting.push(resolve));
    // Other requests may have got some meanwhile.
    const left = limit.countOf(subject).left + advance + (fits ? 0 : used);
    const isTaken = fits || amount <= left;
    const count = { taken, until: performance.now() + time, left: fits || !isTaken ? left : left - amount };
    limit.counts.set(subject, count);
    return limit.describe(isTaken, count);
  }

  private async takeFrom(client: RedisClientType, limit: Limit, subject: string, amount: number) {
    const prefix = this.config.redis?.prefix ?? '';
    // A hash, because others may read from Redis. Of its 22 characters no two subjects have the same.
    const digest = hash('sha256', `${prefix}:\n${subject}`, 'base64url').slice(0, 22);
    const numbers = [amount, limit.window * 1000, limit.amount].map(String);
    const options = { keys: [`${prefix}:${limit.name}:${digest}`], arguments: numbers };
    const [fits, taken, left] = (await client.eval(TAKE_SCRIPT, options)) as unknown as number[];
    const until = performance.now() + Number(left);
    return limit.describe(fits === 1, { taken: Number(taken), until, left: 0 });
  }

  /** Connects once. Returns why Redis cannot be used, or null. The client never reconnects by itself, because it would repeat requests that were given up. */
  async connect(): Promise<string | null> {
    if (this.config.redis === null) return null;
    const { url, certificates } = this.config.redis;
    // It takes a tenth of a second to load.
    const { createClient } = await import('@redis/client');
    const client = createClient({
      url,
      socket: { reconnectStrategy: false, ...(certificates !== null && { ca: certificates }) },
      disableOfflineQueue: true,
      maintNotifications: 'disabled',
    }) as unknown as RedisClientType;
    client.on('error', (error: unknown) => void this.lose(client, describe(error)));
    try {
      await inTime(CONNECT_TIMEOUT_MS, client.connect());
      // A full Redis, and a replica, answer reads only.
      await inTime(ANSWER_MS, this.takeFrom(client, new Limit('probe', 1_000_000, 1), '', 1));
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
    this.incident.note(`Redis is unavailable, so limits are counted without it: ${reason}`);
    while (!this.isStopped && !this.isShared) {
      await sleep(RECONNECT_INTERVAL_MS, undefined, { ref: false });
      await this.connect();
    }
    if (this.isShared) this.incident.end('Redis is reachable, and limits are shared again');
  }
}

const describe = (error: unknown) =>
  [(error as Error).message, codeOf(error)].find(Boolean) ?? 'it cannot be reached';

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
   * Counts a wrong secret. A right one, of 256 random bits, cannot be guessed, and is always accepted (docs/adr/0020).
   * @throws ServiceError RATE_LIMITED, which does not say that the login failed
   */
  async count(address: string): Promise<void> {
    const result = await this.limits.takeOne(this.limit, networkOf(address), 1);
    if (result.isTaken) return;
    this.rejections++;
    const message = 'Too many logins have failed from this address: try again later';
    throw new ServiceError('RATE_LIMITED', message, { retryAfter: result.reset });
  }
}

@Global()
@Module({ providers: [Limits, FailedLogins], exports: [Limits, FailedLogins] })
export class LimitsModule {}
