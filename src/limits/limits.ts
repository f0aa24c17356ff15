import { Inject, Injectable } from '@nestjs/common';
import type { Limit, LimitResult, Taking } from './limit.js';
import type { SharedCounts } from './shared-counts.js';

/** Injection token of SharedCounts; null if each process counts on its own. */
export const SHARED_COUNTS = Symbol('SHARED_COUNTS');

/** Takes from limits, through Redis while it is up (docs/adr/0020). Without Redis it is synchronous. */
@Injectable()
export class Limits {
  constructor(@Inject(SHARED_COUNTS) private readonly shared: SharedCounts | null) {}

  /** Whether other processes take from the same limits, so that Redis has to be asked. */
  get isShared(): boolean {
    return this.shared?.isUp ?? false;
  }

  /** Takes one after another, up to the first that does not fit. Later ones are only read. */
  take(takings: readonly Taking[]): readonly LimitResult[] | Promise<readonly LimitResult[]> {
    const asked = this.shared?.take(takings) ?? null;
    if (asked === null) return takeHere(takings);
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
