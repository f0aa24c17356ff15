import { Inject, Injectable } from '@nestjs/common';
import type { Count, Taking } from './limit.js';
import type { SharedCounts } from './shared-counts.js';

/** SharedCounts; null where each process counts on its own. */
export const SHARED_COUNTS = Symbol('SHARED_COUNTS');

/**
 * Takes from limits: from those that all processes share while there is a Redis to share them through, else from
 * those of this process (docs/adr/0020). Nobody waits without Redis.
 */
@Injectable()
export class Limits {
  constructor(@Inject(SHARED_COUNTS) private readonly shared: SharedCounts | null) {}

  /** Whether another process may have taken too: then only an answer from there is the truth. */
  get isShared(): boolean {
    return this.shared?.isInUse ?? false;
  }

  /**
   * Takes one after another, up to the first that does not fit: from there on it only looks.
   * @returns a count for each; only waits for one another when they are shared
   */
  take(takings: readonly Taking[]): readonly Count[] | Promise<readonly Count[]> {
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
      // Why is in the log. What was last heard from there is where this process goes on.
      () => takeHere(takings),
    );
  }
}

function takeHere(takings: readonly Taking[]): readonly Count[] {
  let isRefused = false;
  return takings.map(({ limit, subject, amount }) => {
    const count = limit.take(subject, isRefused ? 0 : amount);
    if (!isRefused) isRefused = !count.isTaken;
    return isRefused ? { ...count, isTaken: false } : count;
  });
}
