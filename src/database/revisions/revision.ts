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
  /** Called when the primary has to be queried. */
  onUnknownRevision: () => void = () => undefined;

  /** Null if the primary has not reported a revision yet, or if a statement has read another revision. */
  get known(): Revision | null {
    return this.unexplained.size === 0 ? this.reported : null;
  }

  noteRead(id: string): void {
    if (id === this.reported?.id || this.superseded.has(id)) return;
    if (!this.unexplained.has(id)) this.version++;
    this.unexplained.add(id);
    this.onUnknownRevision();
  }

  noteApplied(revision: Revision): void {
    this.version++;
    this.unexplained.delete(revision.id);
    this.setReported(revision);
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

  private setReported(revision: Revision | null): void {
    if (this.reported !== null) this.supersede(this.reported.id);
    if (revision !== null) this.superseded.delete(revision.id);
    this.reported = revision;
  }

  private supersede(id: string): void {
    this.superseded.delete(id);
    this.superseded.add(id);
    const [oldest] = this.superseded;
    if (this.superseded.size > MOST_SUPERSEDED && oldest !== undefined) this.superseded.delete(oldest);
  }
}
