/** Statements that are kept prepared on one connection at most: each takes the server about 100 kB with its plan. */
const MOST_PREPARED = 100;

/** A connection of the driver, as far as prepared statements are concerned; the driver's types leave it out. */
export interface DriverConnection {
  /** Texts by name, of statements that the driver does not prepare again. */
  readonly parsedStatements: Record<string, string | undefined>;
  /** Writes a message that closes a statement, if there is one of the name (PostgreSQL 15, §55.2.3). */
  close(message: { type: 'S'; name: string }): void;
}

/** The use of a prepared statement by one query. */
export interface Lease {
  /** To be called when the query has been answered. */
  end(hasSucceeded: boolean): void;
}

class Prepared implements Lease {
  /** Queries that use it and have not been answered. */
  underWay = 0;
  /** Whether the server has it for sure. */
  isReady = false;

  end(hasSucceeded: boolean): void {
    this.underWay--;
    if (hasSucceeded) this.isReady = true;
  }
}

/** The statements that are prepared on one connection: those that were used last, so many and no more. */
export class PreparedStatements {
  /** By name, least recently used first. */
  private readonly all = new Map<string, Prepared>();

  constructor(private readonly connection: DriverConnection) {}

  has(name: string): boolean {
    return this.all.has(name);
  }

  /**
   * To be called before a query is written: makes room, and closes what has to go first.
   * @returns null when the query is to go without a name. That is so while another query prepares the same statement:
   *   if that is cancelled, it takes no others along. And while all statements that are there are in use.
   */
  lease(name: string): Lease | null {
    let statement = this.all.get(name);
    if (statement !== undefined && !statement.isReady) {
      if (statement.underWay > 0) return null;
      // It failed when it was prepared, or after: nobody knows whether the server has it.
      this.close(name);
      statement = undefined;
    }
    if (statement === undefined) {
      if (!this.makeRoom()) return null;
      statement = new Prepared();
    } else {
      this.all.delete(name);
    }
    this.all.set(name, statement);
    statement.underWay++;
    return statement;
  }

  private makeRoom(): boolean {
    if (this.all.size < MOST_PREPARED) return true;
    for (const [name, { underWay }] of this.all) {
      if (underWay > 0) continue;
      this.close(name);
      return true;
    }
    return false;
  }

  private close(name: string): void {
    this.all.delete(name);
    this.connection.close({ type: 'S', name });
    Reflect.deleteProperty(this.connection.parsedStatements, name);
  }
}
