import { LRUCache } from 'lru-cache';
import pg, { type ClientBase, type QueryArrayResult, type Submittable } from 'pg';
import { type DriverConnection, type Lease, PreparedStatements } from './prepared-statements.js';
import type { NamedQuery } from './statement.js';

/** What the driver calls of a query, as far as it is changed here; its types leave it out. */
interface DriverQuery extends Submittable {
  /** The prepared statement; undefined: the unnamed one, which lasts until the next. */
  name: string | undefined;
  prepare(connection: DriverConnection): void;
  handleRowDescription(message: RowDescription): void;
}

/** The columns of a result (PostgreSQL 15, §55.7). */
interface RowDescription {
  readonly fields: readonly unknown[];
}

type Callback = (error: Error | null, result: QueryArrayResult) => void;

const Query = pg.Query as unknown as new (config: object, callback: Callback) => DriverQuery;

/** Statements whose columns are remembered, and statements that are known to have been used, at most. */
const MOST_KNOWN = 2000;

/** By the names of statements, which stand for their texts. */
const descriptions = new LRUCache<string, RowDescription>({ max: MOST_KNOWN });
/** The names of statements that have been used at least once. */
const used = new LRUCache<string, true>({ max: MOST_KNOWN });
/** By the driver's connections. */
const prepared = new WeakMap<DriverConnection, PreparedStatements>();
/** Connections as they are passed to the driver: they ask for nothing that is known. */
const quiet = new WeakMap<DriverConnection, DriverConnection>();

/**
 * Runs a statement on a connection.
 *
 * It stays prepared there from its second use in this process on: clients choose what they select, most selections come
 * once, and a prepared statement takes memory of the server until it is closed. The columns of a statement are asked for
 * once a process, where the driver asks at each use: of a statement that reads a page that is a tenth of what it takes.
 */
export function sendPrepared(client: ClientBase, query: NamedQuery, callback: Callback): void {
  const sent = new PreparedQuery(query, (error, result) => {
    sent.endLease(error);
    callback(error, result);
  });
  client.query(sent);
}

/** If the driver comes to prepare statements in another way, this goes on to work, at the driver's own pace. */
class PreparedQuery extends Query {
  private readonly statement: string;
  private lease: Lease | null = null;

  constructor({ name, text, values, rowMode }: NamedQuery, callback: Callback) {
    super({ text, values, rowMode, queryMode: 'extended' }, callback);
    this.statement = name;
  }

  override prepare(connection: DriverConnection): void {
    this.lease = lease(this.statement, connection);
    if (this.lease !== null) this.name = this.statement;
    const description = descriptions.get(this.statement);
    if (description === undefined) {
      super.prepare(connection);
      return;
    }
    super.handleRowDescription(description);
    super.prepare(withoutDescribing(connection));
  }

  override handleRowDescription(message: RowDescription): void {
    descriptions.set(this.statement, message);
    super.handleRowDescription(message);
  }

  endLease(error: Error | null): void {
    this.lease?.end(error === null);
    this.lease = null;
  }
}

/** Null: the statement is not to be kept, or not now. */
function lease(statement: string, connection: DriverConnection): Lease | null {
  let statements = prepared.get(connection);
  if (statements === undefined) {
    statements = new PreparedStatements(connection);
    prepared.set(connection, statements);
  }
  if (!statements.has(statement) && used.get(statement) === undefined) {
    used.set(statement, true);
    return null;
  }
  return statements.lease(statement);
}

function withoutDescribing(connection: DriverConnection): DriverConnection {
  let known = quiet.get(connection);
  if (known === undefined) {
    known = Object.create(connection, { describe: { value: () => undefined } }) as DriverConnection;
    quiet.set(connection, known);
  }
  return known;
}
