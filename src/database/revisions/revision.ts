import { uptime } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceUnavailableError } from '../../common/errors.js';
import type { Statement } from '../statements/statement.js';

/** A revision of the mirror. Numbers repeat after a failover or a restore; ids (random UUIDs) do not. */
export interface Revision {
  readonly number: number;
  readonly id: string;
}

/** What the primary reports of its revision. */
export interface ReportedRevision extends Revision {
  /** Milliseconds since 1970. The revision contains every change that the directory had before this time. Null: unknown. */
  readonly asOf: number | null;
  /** Seconds since `asOf`, on the clock of the database. */
  readonly age: number | null;
}

/** The id of the revision of some rows; null if the statement does not return it or there is none yet. */
export function revisionOf(
  { returnsRevision }: Statement,
  [row]: readonly (readonly unknown[])[],
): string | null {
  return returnsRevision && row !== undefined ? (row[row.length - 1] as string | null) : null;
}

/** The mirror has no revision yet. Null or an empty list would be a wrong answer. */
export class NothingReadError extends ServiceUnavailableError {
  constructor() {
    super('The directory has not been read yet: try again later');
    this.name = 'NothingReadError';
  }
}

interface Measured extends Pick<Revision, 'id'> {
  readonly asOf: number;
  readonly age: number;
  readonly since: number;
}

/** Seconds by which the clocks of servers may differ without a clock change. */
const TOLERANCE = 5;

/**
 * The revision of the primary and its age, as far as this process can prove it. Only the primary reports it. Numbers are not
 * compared, because they decrease after a restore.
 */
export class CurrentRevision {
  /** The revision that the primary reported last, even while statements read another one. */
  latest: Revision | null = null;
  /** Whether the primary has reported that there is no revision yet. */
  isNone = false;
  /** Called when the primary has to be queried. */
  onDoubt: () => void = () => undefined;
  /** Called when another revision is current. */
  onChanged: () => void = () => undefined;
  private isDoubted = false;
  /** Whether the answer to the last query is newer than everything else that is known. */
  private isAsked = false;
  private readonly waiting: (() => void)[] = [];
  private measured: Measured | null = null;

  /** @param clock returns seconds; it is monotonic, and continues while the machine sleeps */
  constructor(private readonly clock: () => number = uptime) {}

  /** Null if the primary has not reported a revision yet, or if another one was read since. */
  get known(): Revision | null {
    return this.isDoubted ? null : this.latest;
  }

  /** Resolves when the revision is known, or after these milliseconds. */
  async whenKnown(milliseconds: number): Promise<void> {
    const ended = new AbortController();
    const known = new Promise<void>((resolve) => this.waiting.push(resolve));
    await Promise.race([
      known,
      sleep(milliseconds, undefined, { signal: ended.signal }).catch(() => undefined),
    ]);
    ended.abort();
  }

  /** Notes the id of a revision that a statement has read, or that was announced. */
  noteRead(id: string): void {
    if (id === this.latest?.id) return;
    this.isDoubted = true;
    this.isAsked = false;
    this.onDoubt();
  }

  /** Notes a revision that this process has written. Its age is that of the next answer. */
  noteApplied(revision: Revision): void {
    this.isAsked = false;
    this.setLatest(revision);
    this.onDoubt();
  }

  /** Called before the primary is queried. */
  beginQuery(): void {
    this.isAsked = true;
  }

  /** Records the answer of the primary, unless something happened since the query: then it has to be queried again. */
  noteAnswer(reported: ReportedRevision | null): void {
    if (!this.isAsked) return;
    this.measure(reported);
    this.setLatest(reported && { number: reported.number, id: reported.id });
  }

  private setLatest(revision: Revision | null): void {
    const before = this.latest;
    this.latest = revision;
    this.isNone = revision === null;
    this.isDoubted = false;
    if (before?.id !== revision?.id) this.onChanged();
    for (const resume of this.waiting.splice(0)) resume();
  }

  /**
   * The clock of the database measures the age once for each `asOf`; afterwards a monotonic clock continues, so that setting the
   * clock of a machine does not change the age.
   */
  measure(reported: ReportedRevision | null): void {
    const { id = '', asOf = null, age = null } = reported ?? {};
    if (asOf === null || age === null) this.measured = null;
    else if (this.measured?.id !== id || this.measured.asOf !== asOf) {
      // An instant in the future was written by a clock that has been set back since, so its age is unknown.
      const known = age < -TOLERANCE ? Infinity : Math.max(0, age);
      this.measured = { id, asOf, age: known, since: this.clock() };
    }
  }

  /** The `asOf` of a revision, or of the one measured last; null for another revision. */
  asOf(id = this.measured?.id): Date | null {
    return this.measured !== null && this.measured.id === id ? new Date(this.measured.asOf) : null;
  }

  /** Seconds. Infinity if the age is unknown; null if no revision was reported. */
  get age(): number | null {
    return this.measured === null ? null : this.measured.age + this.clock() - this.measured.since;
  }
}
