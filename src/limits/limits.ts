import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import ipaddr from 'ipaddr.js';

/** Subjects whose counts are kept, each in about 200 bytes. The least recently seen are dropped first. */
const MAX_SUBJECTS = 100_000;

export interface LimitResult {
  readonly isTaken: boolean;
  /** The sum of what has been taken in this window. */
  readonly taken: number;
  /** The end of the window, in milliseconds of `performance.now()`. */
  readonly until: number;
}

/** The amount of requests, points or failed logins that each subject may take within a window. */
export class Limit {
  private readonly counts = new LRUCache<string, { taken: number; until: number }>({
    // `max` would allocate memory for all of them at once, which few services need.
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
    const count = known !== undefined && known.until > now ? known : { taken: 0, until: this.endFrom(now) };
    const isTaken = count.taken + amount <= this.amount;
    if (isTaken && amount > 0) {
      count.taken += amount;
      if (count !== known) this.counts.set(subject, count);
    }
    return { isTaken, taken: count.taken, until: count.until };
  }

  /** Adopts the count of all processes, to go on from it when Redis is down. */
  note(subject: string, { taken, until }: LimitResult): void {
    if (taken > 0) this.counts.set(subject, { taken, until });
    else this.counts.delete(subject);
  }

  remaining({ taken }: LimitResult): number {
    return Math.max(0, this.amount - taken);
  }

  /** Seconds until the window ends: whole ones, at least one. */
  reset({ until }: LimitResult): number {
    return Math.max(1, Math.ceil((until - this.clock()) / 1000));
  }

  private endFrom(now: number): number {
    return now + this.window * 1000;
  }
}

export interface Taking {
  readonly limit: Limit;
  /** A principal, an address or a network. */
  readonly subject: string;
  readonly amount: number;
}

/** Of the eight groups of an IPv6 address. The owner of the network chooses the other four (RFC 4291 §2.5.4). */
const NETWORK_GROUPS = 4;
/** Addresses in the cache. Parsing one takes some microseconds, for every request. */
const MAX_ADDRESSES = 10_000;

const networks = new LRUCache<string, string>({ max: MAX_ADDRESSES, memoMethod: readNetwork });

/**
 * The subject that is counted for an address: the IPv4 address, even if written as IPv6 (RFC 4291 §2.5.5.2), or
 * the /64 network, whose addresses all belong to one client. Any other text stays as it is.
 * @param address undefined if the client has reset the connection, of which the server then knows no address
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  return address.includes(':') ? networks.memo(address) : address;
}

function readNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const groups = parsed.parts.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}

/** Counts outside of this process. `take` is null while they cannot be used, and returns no promise if it need not ask. */
interface Counts {
  readonly isUp: boolean;
  take(takings: readonly Taking[]): readonly LimitResult[] | Promise<readonly LimitResult[]> | null;
}

/** Injection token of SharedCounts; null without Redis. */
export const SHARED_COUNTS = Symbol('SHARED_COUNTS');

/** Injection token of ClusterCounts; null with Redis, or if one process serves requests. */
export const CLUSTER_COUNTS = Symbol('CLUSTER_COUNTS');

/** Takes from limits, through Redis while it is up (docs/adr/0020). Without Redis it is synchronous in a single process. */
@Injectable()
export class Limits {
  constructor(
    @Inject(SHARED_COUNTS) private readonly shared: Counts | null,
    @Inject(CLUSTER_COUNTS) private readonly ofCluster: Pick<Counts, 'take'> | null = null,
  ) {}

  /** Whether other processes take from the same limits, so that Redis has to be asked. */
  get isShared(): boolean {
    return this.shared?.isUp ?? false;
  }

  /** Takes one after another, up to the first that does not fit. Later ones are only read. */
  take(takings: readonly Taking[]): readonly LimitResult[] | Promise<readonly LimitResult[]> {
    const asked = this.shared?.take(takings) ?? this.ofCluster?.take(takings) ?? takeHere(takings);
    if (!(asked instanceof Promise) || !this.isShared) return asked;
    return asked.then(
      (counts) => {
        takings.forEach(({ limit, subject }, index) => {
          const count = counts[index];
          if (count !== undefined) limit.note(subject, count);
        });
        return counts;
      },
      // The reason is in the log. This process goes on from the counts that it has got last.
      () => takeHere(takings),
    );
  }

  async takeOne(limit: Limit, subject: string, amount: number): Promise<LimitResult> {
    const [result] = await this.take([{ limit, subject, amount }]);
    if (result === undefined) throw new Error('The limit has no result');
    return result;
  }
}

function takeHere(takings: readonly Taking[]): readonly LimitResult[] {
  let isRefused = false;
  return takings.map(({ limit, subject, amount }) => {
    const count = limit.take(subject, isRefused ? 0 : amount);
    if (!isRefused) isRefused = !count.isTaken;
    return isRefused ? { ...count, isTaken: false } : count;
  });
}
