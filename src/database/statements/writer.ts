/** How rows are changed within a transaction that somebody else ends: TypeORM's EntityManager can do it too. */
export interface Writer {
  /**
   * Runs one statement with `$1`, `$2` … for its values. Gives the rows of a select or of an insert, as objects; what it
   * gives for other statements is not to be relied upon.
   */
  query<Rows extends object[]>(text: string, values?: unknown[]): Promise<Rows>;
}
