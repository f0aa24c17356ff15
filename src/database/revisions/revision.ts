import type { Statement } from '../statements/statement.js';

/**
 * A revision of the mirror. Its number repeats after a failover or a restore; its id (a random UUID) does
 * not.
 */
export interface Revision {
  readonly number: number;
  readonly id: string;
}

/** Returns the revision in a row of the state; null if there is none yet. */
export function revisionIn({ number, id }: { number: number | null; id: string | null }): Revision | null {
  return number === null || id === null ? null : { number, id };
}

/**
 * Returns the id of the revision that rows were read from; null if the statement does not return it, or if
 * there is none yet.
 */
export function revisionOf(
  { tellsRevision }: Statement,
  [row]: readonly (readonly unknown[])[],
): string | null {
  return tellsRevision && row !== undefined ? (row[row.length - 1] as string | null) : null;
}
