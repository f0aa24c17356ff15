import { counted } from '../../common/counted.js';
import { Logger } from '@nestjs/common';
import { Incident } from '../../common/incident.js';
import { Pace } from '../../common/pace.js';
import type { Progress } from './read-entries.js';
import { summarize } from './summary.js';
import type { SyncOutcome } from './outcome.js';
import type { Reconciliation } from '../reconcile/reconciliations.js';

/** Milliseconds between two log lines about a long run. */
const PROGRESS_INTERVAL = 2000;

/** Logs how runs end. A message is not repeated until the directory is followed again, which is logged as well. */
export class RunReporter {
  private readonly logger = new Logger('Mirror');
  private readonly failing = new Incident(this.logger);
  private readonly holding = new Incident(this.logger);
  /** Whether the server could not be reached. */
  private wasAway = false;
  /** The revision of the mirror when a plan was blocked first. */
  private heldAt = 0;
  private lastWay: string | null = null;
  private readonly risks = new Set<string>();

  constructor(private readonly readRevision: () => Promise<number | null>) {}

  /** @param run reports its progress if it may take long */
  async reportRun(run: (progress: Progress) => Promise<SyncOutcome>): Promise<SyncOutcome> {
    const begun = performance.now();
    const outcome = await run(this.progressOfRun());
    const milliseconds = Math.round(performance.now() - begun);
    switch (outcome.kind) {
      case 'applied':
        this.logger.log(`Revision ${outcome.revision} in ${milliseconds} ms: ${summarize(outcome)}`);
        break;
      case 'blocked':
        if (!this.holding.isOpen) this.heldAt = await this.revisionNow();
        this.holding.note(
          `Synchronization is blocked: ${outcome.reason}. If that is right: ./directory sync --confirm ` +
            String(outcome.hash),
        );
        break;
      case 'failed':
        this.reportFailure(outcome.reason, false);
        break;
      case 'unchanged':
      case 'planned':
      case 'stopped':
        break;
    }
    return outcome;
  }

  /** Logs the end of a trouble, when the mirror has all of the directory again. */
  async reportUpToDate(outcome: SyncOutcome): Promise<void> {
    if (outcome.kind === 'failed' || outcome.kind === 'stopped') return;
    this.failing.end(
      this.wasAway ? 'The directory server is reachable again' : 'Synchronization works again',
    );
    this.wasAway = false;
    if (outcome.kind === 'blocked' || !this.holding.isOpen) return;
    const before = outcome.kind === 'applied' ? outcome.revision - 1 : await this.revisionNow();
    const isConfirmed = before > this.heldAt;
    this.holding.end(
      isConfirmed
        ? `The blocked plan was confirmed: revision ${this.heldAt + 1},`
        : 'No plan is blocked any more',
    );
  }

  /** 0 before the first one, or if the database cannot be asked. */
  private async revisionNow(): Promise<number> {
    return (await this.readRevision().catch(() => null)) ?? 0;
  }

  /** Logs how the directory is followed, if that has changed. */
  reportMethod(way: string): void {
    if (way !== this.lastWay) this.logger.log(way);
    this.lastWay = way;
  }

  /** Logs how long it took to read the changes since the last session. */
  reportCaughtUp(milliseconds: number): void {
    this.logger.debug(`Caught up in ${Math.round(milliseconds)} ms`);
  }

  /** Logs the result of a comparison with the whole directory. */
  reportReconciled({ kind, entries, seconds, healed }: Omit<Reconciliation, 'finishedAt' | 'runs'>): void {
    const text = `Compared the ${kind} of ${counted(entries, 'entry', 'entries')} in ${seconds.toFixed(1)} s; differences that were corrected: ${healed}`;
    if (healed > 0) this.logger.warn(text);
    else this.logger.debug(text);
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

  reportInterruption(error: unknown): void {
    const reason = error instanceof Error ? error.message : '';
    this.failing.note(`Synchronization was interrupted: ${reason}`, 'error');
  }

  /** Logs nothing for a short run. */
  private progressOfRun(): Progress {
    const pace = new Pace(PROGRESS_INTERVAL);
    let isLong = false;
    return (step) => {
      if (step.stage !== 'read') {
        if (isLong)
          this.logger.log(step.stage === 'plan' ? 'All entries are read. Comparing' : 'Writing the changes');
      } else if (pace.isDue()) {
        isLong = true;
        this.logger.log(`${step.entries} entries read`);
      }
    };
  }
}
