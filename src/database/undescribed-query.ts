import pg, { type QueryArrayResult, type Submittable } from 'pg';
import type { NamedQuery } from './statement.js';

/** What the driver calls of a query, as far as it is changed here; its types leave it out. */
interface DriverQuery extends Submittable {
  prepare(connection: object): void;
  handleRowDescription(message: RowDescription): void;
}

/** The columns of a result (PostgreSQL 15, §55.7). */
interface RowDescription {
  readonly fields: readonly unknown[];
}

type Callback = (error: Error | null, result: QueryArrayResult) => void;

const Query = pg.Query as unknown as new (config: NamedQuery, callback: Callback) => DriverQuery;

/** By the names of statements, which stand for their texts. */
const descriptions = new Map<string, RowDescription>();
/** Connections as they are passed to the driver: they ask for nothing that is known. */
const quiet = new WeakMap<object, object>();

/**
 * A named statement whose columns are asked for once a process, and not, as the driver does, each time that it runs: of a
 * statement that reads a page that is a tenth of what it takes. It goes on to work, at the driver's own pace, should that come to
 * prepare statements in another way.
 */
export class UndescribedQuery extends Query {
  private readonly statement: string;

  constructor(config: NamedQuery, callback: Callback) {
    super(config, callback);
    this.statement = config.name;
  }

  override prepare(connection: object): void {
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
}

function withoutDescribing(connection: object): object {
  let known = quiet.get(connection);
  if (known === undefined) {
    known = Object.create(connection, { describe: { value: () => undefined } }) as object;
    quiet.set(connection, known);
  }
  return known;
}
