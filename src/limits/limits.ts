import cluster, { type Worker } from 'node:cluster';
import { EventEmitter, once } from 'node:events';
import { Global, Inject, Injectable, Module } from '@nestjs/common';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { type LimitResult, SharedCounts, type Terms } from './shared-counts.js';

/** Subjects whose counts are kept, each in about 200 bytes. The least recently seen are dropped first. */
const MAX_SUBJECTS = 100_000;

/** `max` would allocate memory for all of them at once, which few services need. */
const boundedBySubjects = <Value extends object>(): LRUCache<string, Value> =>
  new LRUCache({ maxSize: MAX_SUBJECTS, sizeCalculation: () => 1 });

/** The amount of requests, points or failed logins that each subject may take within a window. */
export class Limit {
  private readonly counts = boundedBySubjects<{ taken: number; until: number }>();

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

/** A process asks the first one for an amount, and for an extra amount that it keeps for its next requests. */
interface Message {
  readonly take?: Terms & { id: number; subject: string; wanted: number; extra: number };
  /** With the milliseconds until the window ends: an instant of `performance.now()` means nothing in another process. */
  readonly taken?: { id: number; isTaken: boolean; taken: number; extra: number; milliseconds: number };
}

/** A process takes this part of a limit at once, because a message costs as much as a cached response. */
const PARTS = 64;
/** Milliseconds for an answer of the first process. */
const TIMEOUT_MS = 1000;

/** Lets this process, the first one, count for all others. A reload may bring another amount for a limit, which is then counted from zero. */
export function countForCluster(): void {
  const limits = new Map<string, Limit>();
  cluster.on('message', (worker: Worker, { take }: Message) => {
    if (take === undefined) return;
    const { id, name, amount, window, subject, wanted, extra } = take;
    const key = `${name} ${amount} ${window}`;
    const limit = limits.get(key) ?? new Limit(name, amount, window);
    limits.set(key, limit);
    const both = limit.take(subject, wanted + extra);
    const { isTaken, taken, until } = both.isTaken ? both : limit.take(subject, wanted);
    const given = both.isTaken ? extra : 0;
    const answer = {
      id,
      isTaken,
      taken: taken - given,
      extra: given,
      milliseconds: until - performance.now(),
    };
    if (worker.isConnected()) worker.send({ taken: answer } satisfies Message);
  });
}

/**
 * The counts of all processes of a cluster, which the first one keeps (docs/adr/0044). What a process has taken in advance stays
 * taken, so that the processes never exceed a limit together.
 */
class ClusterCounts {
  /** What this process may still take without asking, and what all have taken otherwise, as far as it is known here. */
  private readonly held = boundedBySubjects<{ extra: number; taken: number; until: number }>();
  private readonly answers = new EventEmitter();
  private asked = 0;

  constructor() {
    process.on('message', ({ taken }: Message) => {
      if (taken !== undefined) this.answers.emit(String(taken.id), taken);
    });
  }

  async take(limit: Limit, subject: string, wanted: number): Promise<LimitResult> {
    const key = `${limit.name} ${subject}`;
    const held = this.findHeld(key);
    if (held !== null && held.extra >= Math.max(1, wanted)) {
      held.extra -= wanted;
      held.taken += wanted;
      return { isTaken: true, taken: held.taken, until: held.until };
    }
    const { name, amount, window } = limit;
    const id = ++this.asked;
    const answered = once(this.answers, String(id), { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const ahead = wanted === 0 ? 0 : Math.floor(amount / PARTS);
    const take = { id, name, amount, window, subject, wanted, extra: ahead };
    process.send?.({ take } satisfies Message, undefined, undefined, () => undefined);
    const [answer] = (await answered.catch(() => [])) as [Message['taken']?];
    // A first process that does not answer ends soon, and this one with it: until then it counts alone.
    if (answer === undefined) return limit.take(subject, wanted);
    const { isTaken, taken, extra, milliseconds } = answer;
    const until = performance.now() + milliseconds;
    // Simultaneous requests may each have taken something in advance.
    if (extra > 0) this.held.set(key, { extra: extra + (this.findHeld(key)?.extra ?? 0), taken, until });
    return { isTaken, taken, until };
  }

  private findHeld(key: string) {
    const held = this.held.get(key);
    return held !== undefined && held.until > performance.now() ? held : null;
  }
}

/** Takes from limits: in Redis while it is up, otherwise in the first process of a cluster, otherwise in this process (docs/adr/0020). */
@Injectable()
export class Limits {
  private readonly ofCluster: ClusterCounts | null;

  constructor(@Inject(SharedCounts) private readonly shared: SharedCounts | null) {
    this.ofCluster = cluster.isWorker && shared === null ? new ClusterCounts() : null;
  }

  /** Whether other services take from the same limits. */
  get isShared(): boolean {
    return this.shared?.isUp ?? false;
  }

  /** Takes an amount, all of it or nothing. The amount 0 reads the state. */
  async takeOne(limit: Limit, subject: string, amount: number): Promise<LimitResult> {
    if (this.ofCluster !== null) return this.ofCluster.take(limit, subject, amount);
    // If Redis is away, the reason is in the log, and this process counts alone.
    const shared = await this.shared?.take(limit, subject, amount)?.catch(() => null);
    return shared ?? limit.take(subject, amount);
  }
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

/** Limits by principal and address, in this process or shared by all processes. */
@Global()
@Module({
  providers: [
    {
      provide: SharedCounts,
      inject: [CONFIG],
      useFactory: ({ redis }: Config) => (redis === null ? null : new SharedCounts(redis)),
    },
    Limits,
    FailedLogins,
  ],
  exports: [FailedLogins, Limits, SharedCounts],
})
export class LimitsModule {}
