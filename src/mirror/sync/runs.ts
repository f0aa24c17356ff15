import diagnosticsChannel from 'node:diagnostics_channel';
import type { Outcome } from './outcome.js';

/** A run, as whoever listens is told of it: `result` is there when it has ended, `error` when it was thrown. */
export interface Run {
  /** `all` of the source was read, or only what had `changes`. */
  readonly scope: 'all' | 'changes';
  readonly result?: Outcome;
  readonly error?: unknown;
}

/** How a run ends; `interrupted` is one that the database has cut off. */
export const ENDS = [
  'applied',
  'unchanged',
  'blocked',
  'failed',
  'planned',
  'stopped',
  'interrupted',
] as const;
export type End = (typeof ENDS)[number];

/** Every run of the synchronisation goes through here: start, asyncEnd and error tell of it. */
export const runChannel = diagnosticsChannel.tracingChannel<unknown, Run>('directory:synchronisation');

/** How runs have ended since the start. */
export class Runs {
  readonly ended = new Map<End, number>();
  /** Of the last one that applied a revision; null: none has yet. */
  lastRevisionSeconds: number | null = null;

  async watch(scope: Run['scope'], run: () => Promise<Outcome>): Promise<Outcome> {
    const begun = performance.now();
    let kind: End = 'interrupted';
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
