import type { EntityManager } from 'typeorm';
import type { Config } from '../../config/config.js';
import { admitToLease, NotLeadingError } from '../../database/leadership/leader-lease.js';
import type { Term } from '../../database/leadership/leader-session.js';

/** Whether this process may write to the mirror (docs/adr/0033). */
export class Leadership {
  private term: Term | null = null;
  /** On the clock of `performance.now()`; null: nothing waits. */
  private waitingSince: number | null = null;

  private constructor(private readonly isRequired: boolean) {}

  /** One process of several leads. An embedded database has one process only. */
  static ofService({ database }: Config): Leadership {
    return new Leadership(database.kind === 'postgres');
  }

  /** A run that an operator asks for needs no lease: it applies one plan, and only to the revision that the plan was made for. */
  static ofCommand(): Leadership {
    return new Leadership(false);
  }

  /** Whether this process leads, as far as it knows. */
  get isLeading(): boolean {
    return !this.isRequired || (this.term !== null && !this.term.signal.aborted);
  }

  /** Aborted when the term ends; undefined: there is none. */
  get signal(): AbortSignal | undefined {
    return this.term?.signal;
  }

  /** Seconds for which a transaction has been waiting for a lock of another session; null: none is. */
  get waitingSeconds(): number | null {
    return this.waitingSince === null ? null : (performance.now() - this.waitingSince) / 1000;
  }

  /** Leads for as long as some work takes. */
  async during(term: Term, work: () => Promise<void>): Promise<void> {
    this.term = term;
    try {
      await work();
    } finally {
      this.term = null;
    }
  }

  /**
   * Fences a transaction that writes to the mirror, before it reads anything that it depends on.
   * @throws NotLeadingError when this process does not lead
   */
  async admit(manager: EntityManager): Promise<void> {
    if (!this.isRequired) return;
    const { term } = this;
    if (term !== null && (await admitToLease(manager, term.tenure))) return;
    const error = new NotLeadingError();
    term?.stepDown(error);
    throw error;
  }

  noteWaiting(isWaiting: boolean): void {
    if (isWaiting) this.waitingSince ??= performance.now();
    else this.waitingSince = null;
  }
}
