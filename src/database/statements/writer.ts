/** Writes rows within a transaction that the caller ends. TypeORM's EntityManager implements it too. */
export interface Writer {
  /**
   * Runs one statement with `$1`, `$2` … for its values. Returns the rows of a select or an insert as
   * objects. The result of other statements is undefined.
   */
  query<Rows extends object[]>(text: string, values?: unknown[]): Promise<Rows>;
}
