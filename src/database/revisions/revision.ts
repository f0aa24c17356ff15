import type { Statement } from '../statements/statement.js';

/** A revision of the mirror. Its number repeats after a failover or a restore, its id (a random UUID) does not. */
export interface Revision {
  readonly number: number;
  readonly id: string;
}

/** The revision in a row of the state; null: there is none yet. */
export function revisionIn({ number, id }: { number: number | null; id: string | null }): Revision | null {
  return number === null || id === null ? null : { number, id };
}

/** The id of the revision that rows are of; null if the statement does not return it, or there is none yet. */
export function revisionOf(
  { tellsRevision }: Statement,
  [row]: readonly (readonly unknown[])[],
): string | null {
  return tellsRevision && row !== undefined ? (row[row.length - 1] as string | null) : null;
}
