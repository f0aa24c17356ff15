import { setTimeout as sleep } from 'node:timers/promises';
import type { Statement } from '../statements/statement.js';
import { ServiceUnavailableError } from '../../common/errors.js';

/** A revision of the mirror. Numbers repeat after a failover or a restore; ids (random UUIDs) do not. */
export interface Revision {
  readonly number: number;
  readonly id: string;
}

export function revisionIn({ number, id }: { number: number | null; id: string | null }): Revision | null {
  return number === null || id === null ? null : { number, id };
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

/** Superseded revisions that are remembered. Statements that still read them end within seconds. */
const MOST_SUPERSEDED = 100;

/**
 * The revision of the primary, as far as this process can prove it. Only the primary reports it. Numbers are
 * not compared, because they decrease after a restore.
 */
export class CurrentRevision {
  private reported: Revision | null = null;
  /** Ids that were read since the last query to the primary, and that differ from the one it reported. */
  private readonly unexplained = new Set<string>();
  private readonly superseded = new Set<string>();
  /** Increases with every event that makes the answer to an earlier query unreliable. */
  private version = 0;
  private versionAtQuery = 0;
  private readonly waiting: (() => void)[] = [];
  /** Whether the primary has reported that there is no revision yet. */
  isNone = false;
  /** Called when the primary has to be queried. */
  onUnknownRevision: () => void = () => undefined;
  /** Called when another revision is current. */
  onChanged: () => void = () => undefined;

  /** Null if the primary has not reported a revision yet, or if a statement has read another revision. */
  get known(): Revision | null {
    return this.unexplained.size === 0 ? this.reported : null;
  }

  /** The revision that the primary reported last, even while statements read another one. */
  get latest(): Revision | null {
    return this.reported;
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

  noteRead(id: string): void {
    if (id === this.reported?.id || this.superseded.has(id)) return;
    if (!this.unexplained.has(id)) this.version++;
    this.unexplained.add(id);
    this.onUnknownRevision();
  }

  /** Records a revision that this process has applied. */
  noteApplied(revision: Revision): void {
    if (!this.isOld(revision)) this.advance(revision);
  }

  /**
   * Records a revision that the primary has announced.
   * @returns false if the primary has to be queried, because the revision does not follow the latest one
   */
  noteAnnounced(revision: Revision, previous: string | null): boolean {
    // An announcement may arrive after an answer that is newer.
    const isOld = this.isOld(revision);
    if (!isOld && (this.reported?.id ?? null) !== previous) return false;
    if (!isOld) this.advance(revision);
    return this.unexplained.size === 0;
  }

  /** Called before the primary is queried. */
  beginQuery(): void {
    this.versionAtQuery = this.version;
  }

  /** Records the answer of the primary. False if something happened since the query: then query again. */
  noteAnswer(revision: Revision | null): boolean {
    if (this.version !== this.versionAtQuery) return false;
    // These ids were read before the query: the primary no longer has them, or never had them.
    for (const id of this.unexplained) this.supersede(id);
    this.unexplained.clear();
    this.setReported(revision);
    return true;
  }

  private isOld({ id }: Revision): boolean {
    return this.reported?.id === id || this.superseded.has(id);
  }

  private advance(revision: Revision): void {
    // The answer to a pending query is possibly older.
    this.version++;
    this.unexplained.delete(revision.id);
    this.setReported(revision);
  }

  private setReported(revision: Revision | null): void {
    const before = this.reported;
    if (before !== null) this.supersede(before.id);
    if (revision !== null) this.superseded.delete(revision.id);
    this.reported = revision;
    this.isNone = revision === null;
    if (before?.id !== revision?.id) this.onChanged();
    if (this.unexplained.size === 0) for (const resume of this.waiting.splice(0)) resume();
  }

  private supersede(id: string): void {
    this.superseded.delete(id);
    this.superseded.add(id);
    const [oldest] = this.superseded;
    if (this.superseded.size > MOST_SUPERSEDED && oldest !== undefined) this.superseded.delete(oldest);
  }
}
