import cluster, { type Worker } from 'node:cluster';
import { Inject, Injectable } from '@nestjs/common';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { inTime } from '../common/settles-within.js';
import { type LimitResult, SharedCounts, type Terms } from './shared-counts.js';

/** Subjects whose counts are kept, each in about 200 bytes. The least recently seen are dropped first. */
const MAX_SUBJECTS = 100_000;

/** The amount of requests, points or failed logins that each subject may take within a window. */
export class Limit implements Terms {
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

  /** Takes an amount, all of it or nothing. The amount 0 reads the state, and a negative one gives back. */
  take(subject: string, amount: number): LimitResult {
    const now = this.clock();
    const known = this.counts.get(subject);
    const count =
      known !== undefined && known.until > now ? known : { taken: 0, until: now + this.window * 1000 };
    const isTaken = count.taken + amount <= this.amount;
    if (isTaken && amount !== 0) {
      count.taken = Math.max(0, count.taken + amount);
      if (count !== known) this.counts.set(subject, count);
    }
    return { isTaken, taken: count.taken, until: count.until };
  }

  /** Adopts the count of all processes, to go on from it when Redis is away. */
  note(subject: string, { taken, until }: LimitResult): void {
    this.counts.set(subject, { taken, until });
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

/** A question to the first process, and its answer. `question` is their number. */
interface Question extends Terms {
  readonly question: number;
  readonly subject: string;
  readonly taking: number;
}

/** An instant of `performance.now()` means nothing in another process. */
interface Answer extends Omit<LimitResult, 'until'>, Pick<Question, 'question'> {
  readonly milliseconds: number;
}

/** Milliseconds for an answer of the first process. */
const TIMEOUT_MS = 1000;

const isOfLimits = (message: unknown): message is Pick<Question, 'question'> =>
  typeof message === 'object' && message !== null && 'question' in message;

/** Lets this process, the first one, count for all others. A reload may bring another amount for a limit, which is then counted from zero. */
export function countForCluster(): void {
  const limits = new Map<string, Limit>();
  cluster.on('message', (worker: Worker, message: unknown) => {
    if (!isOfLimits(message)) return;
    const { question, name, amount, window, subject, taking } = message as Question;
    const key = `${name} ${amount} ${window}`;
    const limit = limits.get(key) ?? new Limit(name, amount, window);
    limits.set(key, limit);
    const { until, ...result } = limit.take(subject, taking);
    const answer: Answer = { question, ...result, milliseconds: until - performance.now() };
    if (worker.isConnected()) worker.send(answer);
  });
}

/** The counts of all processes of a cluster, which the first one keeps (docs/adr/0044). */
class ClusterCounts {
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private asked = 0;

  constructor() {
    process.on('message', (message: unknown) => {
      if (isOfLimits(message)) this.waiting.get(message.question)?.(message as Answer);
    });
  }

  async take({ name, amount, window }: Terms, subject: string, taking: number): Promise<LimitResult> {
    const question = ++this.asked;
    const answered = new Promise<Answer>((resolve) => this.waiting.set(question, resolve));
    const sent: Question = { question, name, amount, window, subject, taking };
    process.send?.(sent, undefined, undefined, () => undefined);
    try {
      const { isTaken, taken, milliseconds } = await inTime(TIMEOUT_MS, answered);
      return { isTaken, taken, until: performance.now() + milliseconds };
    } finally {
      this.waiting.delete(question);
    }
  }
}

/** Takes from limits: in Redis while it is up, otherwise in the first process of a cluster, otherwise in this process (docs/adr/0020). */
@Injectable()
export class Limits {
  private readonly common: SharedCounts | ClusterCounts | null;

  constructor(@Inject(SharedCounts) private readonly redis: SharedCounts | null) {
    this.common = redis ?? (cluster.isWorker ? new ClusterCounts() : null);
  }

  /** Whether other services take from the same limits. */
  get isShared(): boolean {
    return this.redis?.isUp ?? false;
  }

  /** Takes an amount, all of it or nothing. The amount 0 reads the state. */
  async takeOne(limit: Limit, subject: string, amount: number): Promise<LimitResult> {
    try {
      const result = await this.common?.take(limit, subject, amount);
      if (result) {
        limit.note(subject, result);
        return result;
      }
    } catch {
      // The reason is in the log, or the first process ends soon, and this one with it.
    }
    // From the counts that this process has got last.
    return limit.take(subject, amount);
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
