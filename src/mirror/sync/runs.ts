import diagnosticsChannel from 'node:diagnostics_channel';
import type { SyncOutcome } from './outcome.js';

/** A run, as subscribers receive it. `result` is set when the run has ended, `error` when it threw. */
export interface Run {
  /** `all` if the whole source was read, `changes` if only changes were read. */
  readonly scope: 'all' | 'changes';
  readonly result?: SyncOutcome;
  readonly error?: unknown;
}

/** The possible ends of a run. `interrupted` means that a database error ended it. */
export const ENDS = [
  'applied',
  'unchanged',
  'blocked',
  'failed',
  'planned',
  'stopped',
  'interrupted',
] as const;
export type RunEnd = (typeof ENDS)[number];

/** Diagnostics channel for every synchronization run. It publishes the events start, asyncEnd and error. */
export const runChannel = diagnosticsChannel.tracingChannel<unknown, Run>('directory:synchronization');

/** Counts of how runs have ended since the start of the process. */
export class Runs {
  readonly ended = new Map<RunEnd, number>();
  /** Duration of the last run that applied a revision, or null if there was none. */
  lastRevisionSeconds: number | null = null;

  async watch(scope: Run['scope'], run: () => Promise<SyncOutcome>): Promise<SyncOutcome> {
    const begun = performance.now();
    let kind: RunEnd = 'interrupted';
    try {
      const outcome = await runChannel.tracePromise(run, { scope });
      ({ kind } = outcome);
      return outcome;
    } finally {
      if (kind === 'applied') this.lastRevisionSeconds = (performance.now() - begun) / 1000;
      this.ended.set(kind, (this.ended.get(kind) ?? 0) + 1);
    }
  }
}
