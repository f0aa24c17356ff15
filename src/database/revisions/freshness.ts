import { uptime } from 'node:os';

/** Seconds that clocks of servers may differ without anyone having set one. */
const TOLERANCE = 5;

/** How fresh a revision is, as the database tells it. */
export interface ToldFreshness {
  /** The id of the revision. */
  readonly id: string;
  /** Every change made in the directory before is in it, in milliseconds since 1970. */
  readonly asOf: number;
  /** Seconds since then, by the clock of the database. */
  readonly age: number;
}

/**
 * How old the mirror is. The clock of the database measures the age once for each `asOf`; from then on a clock that only goes
 * forward does. So nothing looks fresher or older when the clock of a machine is set while this process runs.
 */
export class Freshness {
  private told: (ToldFreshness & { readonly since: number }) | null = null;

  /** @param clock gives seconds; it never goes back, and goes on while the machine sleeps */
  constructor(private readonly clock: () => number = uptime) {}

  /** @param told null: there is no revision */
  note(told: ToldFreshness | null): void {
    if (told === null) {
      this.told = null;
      return;
    }
    const { id, asOf } = told;
    if (this.told?.id === id && this.told.asOf === asOf) return;
    // An instant that is still to come was written by a clock that has been set back since: nobody knows how old it is.
    const age = told.age < -TOLERANCE ? Infinity : Math.max(0, told.age);
    this.told = { id, asOf, age, since: this.clock() };
  }

  /** Of this revision; null when it is not the one that was told last. */
  asOfRevision(id: string): Date | null {
    return this.told?.id === id ? new Date(this.told.asOf) : null;
  }

  /** Every change made in the directory before is in the revision that was told last. */
  get asOf(): Date | null {
    return this.told === null ? null : new Date(this.told.asOf);
  }

  /** Seconds; Infinity: it cannot be told, and may be any. Null: nothing was told. */
  get age(): number | null {
    return this.told === null ? null : this.told.age + this.clock() - this.told.since;
  }
}
