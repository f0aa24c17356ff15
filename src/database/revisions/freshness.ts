import { uptime } from 'node:os';

/** Seconds by which the clocks of servers may differ without a clock change. */
const TOLERANCE = 5;

/** Freshness of a revision, as the database reports it. */
export interface ReportedFreshness {
  /** The id of the revision. */
  readonly id: string;
  /** Milliseconds since 1970. The revision contains every change that the directory had before this time. */
  readonly asOf: number;
  /** Seconds since `asOf`, on the clock of the database. */
  readonly age: number;
}

/**
 * Age of the mirror. The clock of the database measures the age once for each `asOf`; afterwards a monotonic
 * clock continues. Setting the clock of a machine while this process runs therefore does not change the age.
 */
export class Freshness {
  private reported: (ReportedFreshness & { readonly since: number }) | null = null;

  /** @param clock returns seconds; it is monotonic, and continues while the machine sleeps */
  constructor(private readonly clock: () => number = uptime) {}

  /** @param reported null if there is no revision */
  note(reported: ReportedFreshness | null): void {
    if (reported === null) {
      this.reported = null;
      return;
    }
    const { id, asOf } = reported;
    if (this.reported?.id === id && this.reported.asOf === asOf) return;
    // An instant in the future was written by a clock that has been set back since, so its age is unknown.
    const age = reported.age < -TOLERANCE ? Infinity : Math.max(0, reported.age);
    this.reported = { id, asOf, age, since: this.clock() };
  }

  /** Returns the `asOf` of this revision; null if it is not the one reported last. */
  asOfRevision(id: string): Date | null {
    return this.reported?.id === id ? new Date(this.reported.asOf) : null;
  }

  /** The revision reported last contains every change that the directory had before this time. */
  get asOf(): Date | null {
    return this.reported === null ? null : new Date(this.reported.asOf);
  }

  /** Seconds. Infinity if the age is unknown; null if no revision was reported. */
  get age(): number | null {
    return this.reported === null ? null : this.reported.age + this.clock() - this.reported.since;
  }
}
