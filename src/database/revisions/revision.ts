/** A revision of the mirror. Its number repeats after a failover or a restore, its id (a random UUID) does not. */
export interface Revision {
  readonly number: number;
  readonly id: string;
}

/** The revision in a row of the state; null: there is none yet. */
export function revisionIn({ number, id }: { number: number | null; id: string | null }): Revision | null {
  return number === null || id === null ? null : { number, id };
}
