import { LRUCache } from 'lru-cache';

/** Callers whose counts are kept at most: the least recently seen are forgotten first. One takes about 200 bytes. */
const REMEMBERED_SUBJECTS = 100_000;

/** How somebody stands with a limit. */
export interface Count {
  /** Whether what was asked for has been taken. */
  readonly isTaken: boolean;
  /** What is taken of the limit by now. */
  readonly taken: number;
  /** When all of it is there again: milliseconds on the clock of `performance.now()`. */
  readonly until: number;
}

/** So much that may be taken within a window, by each subject: requests, points, failed logins. */
export class Limit {
  private readonly counts = new LRUCache<string, { taken: number; until: number }>({
    // With a number of them it would make room for all at once, which few services need.
    maxSize: REMEMBERED_SUBJECTS,
    sizeCalculation: () => 1,
  });

  /**
   * @param name tells its counts from those of other limits
   * @param amount what may be taken within a window
   * @param window seconds; one begins with the first that is taken after the last one's end
   * @param clock milliseconds since any instant
   */
  constructor(
    readonly name: string,
    readonly amount: number,
    readonly window: number,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** Takes an amount, all of it or nothing. Nothing can be taken too: that is how one looks. */
  take(subject: string, amount: number): Count {
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

  /** Takes over what others have counted too: from here it goes on when they cannot be asked any more. */
  note(subject: string, { taken, until }: Count): void {
    if (taken > 0) this.counts.set(subject, { taken, until });
    else this.counts.delete(subject);
  }

  /** What is left. */
  remaining({ taken }: Count): number {
    return Math.max(0, this.amount - taken);
  }

  /** Seconds until all of it is there again: whole ones, at least one. */
  reset({ until }: Count): number {
    return Math.max(1, Math.ceil((until - this.clock()) / 1000));
  }

  private endFrom(now: number): number {
    return now + this.window * 1000;
  }
}

/** What is to be taken of a limit. */
export interface Taking {
  readonly limit: Limit;
  /** Who takes it. */
  readonly subject: string;
  readonly amount: number;
}
