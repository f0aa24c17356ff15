import { LRUCache } from 'lru-cache';
import { Limit } from './limits.js';

/** A request of a worker for an amount. It is JSON. */
export interface GrantRequest {
  readonly name: string;
  /** The amount of the limit, and its window in seconds. */
  readonly limit: number;
  readonly window: number;
  readonly subject: string;
  readonly amount: number;
  /** What the worker has learned from Redis, which is down now; null: nothing. `left` has milliseconds until the window ends. */
  readonly known: { readonly taken: number; readonly left: number } | null;
}

export interface Grant {
  readonly isTaken: boolean;
  /** What all workers have taken, with what they may still take without asking. */
  readonly taken: number;
  /** Milliseconds until the window ends. */
  readonly left: number;
  /** What this worker may take within the window without asking again. */
  readonly extra: number;
}

/** What a worker was granted of a limit, and has not used. It is JSON. */
export interface UnusedGrant {
  readonly name: string;
  readonly subject: string;
  readonly unused: number;
}

/** Asks every worker to return what it was granted and has not used. Returns the sum. */
export type Reclaim = (name: string, subject: string) => Promise<number>;

/** A worker is granted this part of what is left, divided by the number of workers. */
const EXTRA_PART = 8;
const MAX_SUBJECTS = 100_000;

/**
 * Counts of all workers (docs/adr/0044). A worker gets an amount in advance, so that few requests need a message. An amount is
 * taken when it is granted, so that workers never exceed a limit together.
 */
export class GrantedCounts {
  private readonly limits = new Map<string, Limit>();
  /** Subjects with amounts that workers may hold unused. */
  private readonly granted = new LRUCache<string, true>({ max: MAX_SUBJECTS });

  /** Reclaims that have not ended, by subject. */
  private readonly reclaims = new Map<string, Promise<void>>();

  constructor(
    private readonly workers: number,
    private readonly reclaim: Reclaim,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  async take(request: GrantRequest): Promise<Grant> {
    const { name, subject, amount, known } = request;
    const limit = this.limitOf(request);
    if (known !== null && known.taken > limit.take(subject, 0).taken)
      limit.note(subject, { isTaken: true, taken: known.taken, until: this.clock() + known.left });
    const key = `${name} ${subject}`;
    const isShort = () => limit.remaining(limit.take(subject, 0)) < amount;
    while (isShort() && (this.reclaims.has(key) || this.granted.delete(key))) {
      const reclaiming = this.reclaims.get(key) ?? this.reclaimAll(limit, subject, key);
      this.reclaims.set(key, reclaiming);
      await reclaiming;
    }
    const first = limit.take(subject, amount);
    const extra = first.isTaken && amount > 0 ? this.extraOf(limit.remaining(first)) : 0;
    const { taken, until } = extra > 0 ? limit.take(subject, extra) : first;
    if (extra > 0) this.granted.set(key, true);
    return { isTaken: first.isTaken, taken, left: until - this.clock(), extra };
  }

  /** Called with what a worker that ends has not used. */
  takeBack(grants: readonly UnusedGrant[]): void {
    for (const { name, subject, unused } of grants) {
      const limit = this.limits.get(name);
      if (limit !== undefined) giveBack(limit, subject, unused);
    }
  }

  private async reclaimAll(limit: Limit, subject: string, key: string): Promise<void> {
    giveBack(limit, subject, await this.reclaim(limit.name, subject));
    this.reclaims.delete(key);
  }

  private extraOf(remaining: number): number {
    return Math.floor(remaining / (EXTRA_PART * this.workers));
  }

  private limitOf({ name, limit, window }: GrantRequest): Limit {
    let found = this.limits.get(name);
    if (found === undefined) {
      found = new Limit(name, limit, window, this.clock);
      this.limits.set(name, found);
    }
    return found;
  }
}

function giveBack(limit: Limit, subject: string, unused: number): void {
  const { taken, until } = limit.take(subject, 0);
  limit.note(subject, { isTaken: true, taken: Math.max(0, taken - unused), until });
}
