import type { ReconciliationKind } from '../reconcile/reconciliations.js';
import type { RunEnd } from '../sync/runs.js';
import type { Synchronizer } from '../sync/synchronizer.js';

/** Counts and measurements of the process that follows the directory. They are sent between processes as JSON. */
export interface FollowerState {
  /** Number of ended synchronization runs, by outcome. */
  readonly ended: Partial<Record<RunEnd, number>>;
  readonly lastRevisionSeconds: number | null;
  /** Number of entries that reconciliations have corrected. */
  readonly healed: Partial<Record<ReconciliationKind, number>>;
  readonly isLeading: boolean;
  /** Seconds for which it has been waiting for a lock of another session. */
  readonly lockWaitSeconds: number;
  /** Processor time of the process, in seconds. */
  readonly processorSeconds: number;
  readonly residentBytes: number;
}

export function readFollowerState({ runs, reconciliations, leadership }: Synchronizer): FollowerState {
  const { user, system } = process.cpuUsage();
  return {
    ended: Object.fromEntries(runs.ended),
    lastRevisionSeconds: runs.lastRevisionSeconds,
    healed: Object.fromEntries(reconciliations.healed),
    isLeading: leadership.isLeading,
    lockWaitSeconds: leadership.waitingSeconds ?? 0,
    processorSeconds: (user + system) / 1e6,
    residentBytes: process.memoryUsage.rss(),
  };
}
