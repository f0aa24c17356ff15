import diagnosticsChannel from 'node:diagnostics_channel';
import { Logger } from '@nestjs/common';
import { Incident } from '../common/incident.js';
import { Pace } from '../common/pace.js';
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
  /** The revision of the mirror when a plan was blocked first. */
  private heldAt = 0;
  private lastMode: string | null = null;
  private readonly risks = new Set<string>();

  constructor(private readonly readRevision: () => Promise<number | null>) {}

  /** @param run reports its progress if it may take long */
  async reportRun(
    run: (progress: (step: ProgressStep) => void) => Promise<RevisionOutcome>,
  ): Promise<RevisionOutcome> {
    const begun = performance.now();
    const outcome = await run(this.progressOfRun());
    const milliseconds = Math.round(performance.now() - begun);
    if (outcome.kind === 'held' || outcome.kind === 'partial') return outcome;
    if (outcome.kind === 'blocked') {
      const { reason, hash } = outcome;
      if (!this.holding.isOpen) this.heldAt = await this.revisionNow();
      this.holding.note(
        `Synchronization is blocked: ${reason}. If that is right: ./directory sync --confirm ${hash}`,
      );
    }
    if (outcome.kind === 'applied')
      this.logger.log(
        `Revision ${outcome.revision.number} in ${milliseconds} ms: ${summarize(outcome.counts)}`,
      );
    await this.noteEnd(outcome);
    return outcome;
  }

  /** Logs the end of a trouble: the directory was read. */
  private async noteEnd(outcome: RevisionOutcome): Promise<void> {
    this.failing.end(
      this.wasAway ? 'The directory server is reachable again' : 'Synchronization works again',
    );
    this.wasAway = false;
    if (outcome.kind === 'blocked' || !this.holding.isOpen) return;
    const before = outcome.kind === 'applied' ? outcome.revision.number - 1 : await this.revisionNow();
    this.holding.end(
      before > this.heldAt
        ? `The blocked plan was confirmed: revision ${this.heldAt + 1},`
        : 'No plan is blocked any more',
    );
  }

  /** 0 before the first one, or if the database cannot be asked. */
  private async revisionNow(): Promise<number> {
    return (await this.readRevision().catch(() => null)) ?? 0;
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

  /** Logs, once, a warning about a problem that does not prevent operation. */
  reportRisk(risk: string): void {
    if (!this.risks.has(risk)) this.logger.warn(risk);
    this.risks.add(risk);
  }

  /** @param isAway whether the server cannot be reached */
  reportFailure(reason: string, isAway: boolean): void {
    this.wasAway ||= isAway;
    this.failing.note(`Synchronization fails, and the mirror stays unchanged: ${reason}`);
  }

  /** Logs nothing for a short run. */
  private progressOfRun(): (step: ProgressStep) => void {
    const pace = new Pace(PROGRESS_INTERVAL);
    let isLong = false;
    return (step) => {
      if (step.stage !== 'read') {
        if (isLong)
          this.logger.log(
            step.stage === 'compare' ? 'All entries are read. Comparing' : 'Writing the changes',
          );
      } else if (pace.isDue()) {
        isLong = true;
        this.logger.log(`${step.entries} entries read`);
      }
    };
  }
}
