import type { EntityManager } from 'typeorm';
import { admitToLease, NotLeadingError } from '../../database/leadership/leader-lease.js';
import type { Term } from '../../database/leadership/leader-session.js';

/** What waits for a lock of another session: the transaction of a change, or the renewal of the lease. */
type Waiting = 'change' | 'lease';

/** Whether this process may write to the mirror (docs/adr/0033). */
export class Leadership {
  private term: Term | null = null;
  /** Start of each wait, on the clock of `performance.now()`. */
  private readonly waitingSince = new Map<Waiting, number>();

  private constructor(private readonly isRequired: boolean) {}

  /** Of several processes, one leads. */
  static ofService(): Leadership {
    return new Leadership(true);
  }

  /**
   * A run of an operator's command needs no lease. It applies one plan, and only to the revision that the
   * plan is based on.
   */
  static ofCommand(): Leadership {
    return new Leadership(false);
  }

  get isLeading(): boolean {
    return !this.isRequired || (this.term !== null && !this.term.signal.aborted);
  }

  /** Aborts when the term ends. Undefined if there is no term. */
  get signal(): AbortSignal | undefined {
    return this.term?.signal;
  }

  /** Seconds for which this process has waited for a lock of another session, or null if it does not wait. */
  get waitingSeconds(): number | null {
    if (this.waitingSince.size === 0) return null;
    return (performance.now() - Math.min(...this.waitingSince.values())) / 1000;
  }

  async during(term: Term, work: () => Promise<void>): Promise<void> {
    this.term = term;
    try {
      await work();
    } finally {
      this.term = null;
    }
  }

  /**
   * Fences a transaction that writes to the mirror. It must be called before the transaction reads data that
   * it depends on.
   * @throws NotLeadingError if this process is not the leader
   */
  async admit(manager: EntityManager): Promise<void> {
    if (!this.isRequired) return;
    const { term } = this;
    if (term !== null && (await admitToLease(manager, term.tenure))) return;
    const error = new NotLeadingError();
    term?.stepDown(error);
    throw error;
  }

  /** @returns whether this is news */
  noteWaiting(what: Waiting, isWaiting: boolean): boolean {
    if (isWaiting === this.waitingSince.has(what)) return false;
    if (isWaiting) this.waitingSince.set(what, performance.now());
    else this.waitingSince.delete(what);
    return true;
  }
}
