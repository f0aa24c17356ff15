import type { Revision } from './revision.js';

/** Superseded revisions that are kept in mind: a statement that still reads one of them ends within seconds. */
const MOST_SUPERSEDED = 100;

/**
 * The revision that the primary has, as far as this process can prove it. Only the primary tells it: numbers are not
 * compared, because they go down after a restore.
 */
export class CurrentRevision {
  private told: Revision | null = null;
  /** Ids that were read since the primary was asked, and that are not the one that it told. */
  private readonly unexplained = new Set<string>();
  private readonly superseded = new Set<string>();
  /** Grows with everything that makes an answer to an earlier question unreliable. */
  private version = 0;
  private versionAsked = 0;
  /** Called when the primary has to be asked. */
  onDoubt: () => void = () => undefined;

  /** Null: the primary has told none yet, or something was read that shows that there is another one. */
  get known(): Revision | null {
    return this.unexplained.size === 0 ? this.told : null;
  }

  /** Something of this revision was read from the primary. */
  noteRead(id: string): void {
    if (id === this.told?.id || this.superseded.has(id)) return;
    if (!this.unexplained.has(id)) this.version++;
    this.unexplained.add(id);
    this.onDoubt();
  }

  /** This process has applied a revision. */
  noteApplied(revision: Revision): void {
    this.version++;
    this.unexplained.delete(revision.id);
    this.tell(revision);
  }

  /** The primary is about to be asked. */
  beginAsking(): void {
    this.versionAsked = this.version;
  }

  /**
   * What the primary has told.
   * @param revision null: it has none
   * @returns false when something happened since it was asked: then it has to be asked again
   */
  noteAnswer(revision: Revision | null): boolean {
    if (this.version !== this.versionAsked) return false;
    // They were read before the primary was asked: it has them no more, or never had them.
    for (const id of this.unexplained) this.supersede(id);
    this.unexplained.clear();
    this.tell(revision);
    return true;
  }

  private tell(revision: Revision | null): void {
    if (this.told !== null) this.supersede(this.told.id);
    if (revision !== null) this.superseded.delete(revision.id);
    this.told = revision;
  }

  private supersede(id: string): void {
    this.superseded.delete(id);
    this.superseded.add(id);
    const [oldest] = this.superseded;
    if (this.superseded.size > MOST_SUPERSEDED && oldest !== undefined) this.superseded.delete(oldest);
  }
}
