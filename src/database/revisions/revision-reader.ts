import type { Reader } from '../statements/reader.js';
import type { Statement } from '../statements/statement.js';

/** Reads, and notes the ids of the revisions that what it has read is of: more than one, and it does not belong together. */
export class RevisionReader implements Reader {
  readonly revisions = new Set<string | null>();

  /** @param counter counts what is read */
  constructor(
    private readonly reader: Reader,
    private readonly counter: { statements: number },
  ) {}

  async read<Row extends unknown[]>(statement: Statement, values?: readonly unknown[]): Promise<Row[]> {
    this.counter.statements++;
    const rows = await this.reader.read<Row>(statement, values);
    const [row] = rows;
    if (statement.tellsRevision && row !== undefined)
      this.revisions.add(row[row.length - 1] as string | null);
    return rows;
  }
}

/** The id of the revision that an answer is of; null: it does not tell, or there is none yet. */
export function revisionOf(
  { tellsRevision }: Statement,
  [row]: readonly (readonly unknown[])[],
): string | null {
  return tellsRevision && row !== undefined ? (row[row.length - 1] as string | null) : null;
}
