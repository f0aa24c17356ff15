/** Time limits of work in the database, in milliseconds. */
export interface DatabaseTimeLimits {
  /** A statement of a request. The mirror lifts this limit for its own writes. */
  readonly statement: number;
  /** The wait for a connection, before a request is rejected as retryable. */
  readonly connection: number;
  /** The wait of a preview for locks of a revision or another preview: shorter than a statement. */
  readonly lock: number;
  /** The wait for the result of a statement. It exceeds the limit of a statement, which the server itself cancels. */
  readonly result: number;
  /** All attempts of a preview transaction together, because a revision waits for the rows that it has changed. */
  readonly preview: number;
  /** A transaction without statements, which the server then ends because its locks block others. Previews end before. */
  readonly idle: number;
}

/** @param seconds the limit of a statement: see DATABASE_TIMEOUT_SECONDS */
export function timeLimitsFor(seconds: number): DatabaseTimeLimits {
  return {
    statement: seconds * 1000,
    connection: seconds * 400,
    lock: seconds * 800,
    result: seconds * 1400,
    preview: seconds * 2000,
    idle: seconds * 4000,
  };
}
