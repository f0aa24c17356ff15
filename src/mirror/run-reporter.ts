import diagnosticsChannel from 'node:diagnostics_channel';
import { Logger } from '@nestjs/common';
import { Incident } from '../common/incident.js';
import type { Directory } from '../sources/directory.js';
import type { RevisionCounts } from './revision/guard.js';
import type { RevisionOutcome } from './revision/revision.js';

/** The progress of a run: the number of entries read so far, or the start of a later stage. */
export type ProgressStep =
  { readonly stage: 'read'; readonly entries: number } | { readonly stage: 'compare' | 'write' };

/** A run, as subscribers of the channel receive it. `result` is set when the run has ended, `error` when it threw. */
export interface Run {
  /** `all` if everything is compared, `changes` if entries are that hints name. */
  readonly scope: 'all' | 'changes';
  readonly result?: RevisionOutcome;
  readonly error?: unknown;
}

/** Diagnostics channel for every run. It publishes the events start, asyncEnd and error. */
export const runChannel = diagnosticsChannel.tracingChannel<unknown, Run>('directory:synchronization');

/** The possible ends of a run. `failed` means that an error ended it. */
export const ENDS = [
  'applied',
  'unchanged',
  'blocked',
  'held',
  'partial',
  'planned',
  'refused',
  'failed',
] as const;
export type RunEnd = (typeof ENDS)[number];

/** Milliseconds between two log lines about a long run. */
const PROGRESS_INTERVAL = 2000;

/** Summarizes what a revision changes in one line, with counts and without names. */
export function summarize({ users, groups, memberships, nestings }: RevisionCounts): string {
  return Object.entries({ users, groups, memberships, nestings })
    .map(([kind, { created, updated, deleted }]) => `${kind} +${created} ~${updated} -${deleted}`)
    .join(', ');
}

/** Logs how runs end. A message is not repeated until the directory is followed again, which is logged as well. */
export class RunReporter {
  private readonly logger = new Logger('Mirror');
  private readonly failing = new Incident(this.logger);
  private readonly holding = new Incident(this.logger);
  /** Whether the server could not be reached. */
  private wasAway = false;
  private lastMode: string | null = null;

  /** @param run reports its progress if it may take long */
  async reportRun(
    run: (progress: (step: ProgressStep) => void) => Promise<RevisionOutcome>,
  ): Promise<RevisionOutcome> {
    const begun = performance.now();
    let next = begun + PROGRESS_INTERVAL;
    const outcome = await run((step) => {
      const now = performance.now();
      if (step.stage !== 'read' || now < next) return;
      next = now + PROGRESS_INTERVAL;
      this.logger.log(`${step.entries} entries read`);
    });
    const milliseconds = Math.round(performance.now() - begun);
    if (outcome.kind === 'held' || outcome.kind === 'partial') return outcome;
    if (outcome.kind === 'applied')
      this.logger.log(
        `Revision ${outcome.revision.number} in ${milliseconds} ms: ${summarize(outcome.counts)}`,
      );
    if (outcome.kind === 'blocked')
      this.holding.note(
        `Synchronization is blocked: ${outcome.reason}. If that is right: ./directory sync --confirm ${outcome.hash}`,
      );
    else this.holding.end('No plan is blocked any more');
    this.failing.end(
      this.wasAway ? 'The directory server is reachable again' : 'Synchronization works again',
    );
    this.wasAway = false;
    return outcome;
  }

  /** Logs how the directory is followed, if that has changed, and what the server refuses, once. */
  reportMode({ mode, refusals }: Directory): void {
    const texts = {
      PUSHED: 'The directory server pushes changes (RFC 4533)',
      COUNTED: 'The directory server numbers its changes: it is asked for the latest number every second',
      POLLED: 'The directory server does not push changes: it is polled',
    };
    const text = mode === null ? null : [texts[mode], ...refusals].join('. ');
    if (text !== null && text !== this.lastMode) this.logger.log(text);
    this.lastMode = text;
  }

  /** @param isAway whether the server cannot be reached */
  reportFailure(reason: string, isAway: boolean): void {
    this.wasAway ||= isAway;
    this.failing.note(`Synchronization fails, and the mirror stays unchanged: ${reason}`);
  }
}
