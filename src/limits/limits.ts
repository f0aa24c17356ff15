import { Inject, Injectable } from '@nestjs/common';
import type { LimitResult, Taking } from './limit.js';
import type { SharedCounts } from './shared-counts.js';

/** Injection token of SharedCounts; null if each process counts on its own. */
export const SHARED_COUNTS = Symbol('SHARED_COUNTS');

/**
 * Takes from limits: through Redis while it is up, so that all processes share them, or else in this
 * process (docs/adr/0020). Without Redis it is synchronous.
 */
@Injectable()
export class Limits {
  constructor(@Inject(SHARED_COUNTS) private readonly shared: SharedCounts | null) {}

  /** Whether other processes take from the same limits, so that Redis has to be asked. */
  get isShared(): boolean {
    return this.shared?.isInUse ?? false;
  }

  /**
   * Takes one after another, up to the first that does not fit. From there on it only reads the counts.
   * @returns a count for each, as a promise only if they are shared
   */
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
}

function takeHere(takings: readonly Taking[]): readonly LimitResult[] {
  let isRefused = false;
  return takings.map(({ limit, subject, amount }) => {
    const count = limit.take(subject, isRefused ? 0 : amount);
    if (!isRefused) isRefused = !count.isTaken;
    return isRefused ? { ...count, isTaken: false } : count;
  });
}
