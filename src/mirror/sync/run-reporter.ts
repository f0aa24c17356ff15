import { counted } from '../../common/counted.js';
import { Logger } from '@nestjs/common';
import { Pace } from '../../common/pace.js';
import type { Progress } from './read-entries.js';
import { summarize } from './summary.js';
import type { SyncOutcome } from './outcome.js';
import type { Reconciliation } from '../reconcile/reconciliations.js';

/** Milliseconds between two log lines about a long run. */
const PROGRESS_INTERVAL = 2000;

/** Logs how runs end. A message is not repeated until another event has occurred. */
export class RunReporter {
  private readonly logger = new Logger('Mirror');
  private lastTrouble: string | null = null;
  private lastWay: string | null = null;
  private readonly risks = new Set<string>();

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
        this.warn(
          `Synchronization is blocked: ${outcome.reason}. If that is right: ./directory sync --confirm ` +
            String(outcome.hash),
        );
        return outcome;
      case 'failed':
        this.reportFailure(outcome.reason);
        return outcome;
      case 'unchanged':
      case 'planned':
      case 'stopped':
        break;
    }
    this.lastTrouble = null;
    return outcome;
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

  reportFailure(reason: string): void {
    this.warn(`Synchronization fails, and the mirror stays unchanged: ${reason}`);
  }

  reportInterruption(error: unknown): void {
    this.logger.error(`Synchronization was interrupted: ${error instanceof Error ? error.message : ''}`);
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

  private warn(trouble: string): void {
    if (trouble !== this.lastTrouble) this.logger.warn(trouble);
    this.lastTrouble = trouble;
  }
}
