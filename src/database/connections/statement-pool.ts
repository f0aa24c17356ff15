import type { ClientBase, Pool, QueryArrayResult } from 'pg';
import { databaseError, NothingReadError } from '../statements/database-error.js';
import { type Statement, statementChannel } from '../statements/statement.js';
import type { DatabaseTimeLimits } from './pool-options.js';

/** Prepared statements of a connection: each takes about 100 kB of the server's memory. */
const MAX_PREPARED = 100;

/**
 * Runs statements on the connections of a pool. A statement is prepared from its second use on, because most selections are used
 * once. A connection with many prepared statements is replaced, because the driver cannot close single ones.
 */
export class StatementPool {
  private readonly used = new WeakSet<Statement>();
  private readonly prepared = new WeakMap<ClientBase, Set<string>>();

  constructor(
    private readonly pool: () => Pool,
    private readonly limits: DatabaseTimeLimits,
  ) {}

  /**
   * Runs one statement on a connection of the pool.
   * @throws NothingReadError if there is no revision; ServiceError TIMEOUT; ServiceUnavailableError
   */
  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const connecting = this.pool().connect();
    const client = await connecting.catch((error: unknown) => Promise.reject(databaseError(error)));
    let failure: Error | undefined;
    try {
      return await this.readOn<Row>(client, statement, values);
    } catch (error) {
      if (!(error instanceof NothingReadError)) failure = error as Error;
      throw error;
    } finally {
      client.release(failure ?? this.isExhausted(client));
    }
  }

  /** Runs one statement on a connection that the caller holds; it throws as `read` does. */
  async readOn<Row extends unknown[]>(
    client: ClientBase,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const { name, text, returnsRevision } = statement;
    const kind = this.prepares(client, statement) ? { name } : { queryMode: 'extended' };
    const query = { ...kind, text, values: [...values], rowMode: 'array', query_timeout: this.limits.result };
    try {
      const sent = () => client.query(query) as unknown as Promise<QueryArrayResult<Row>>;
      const { rows } = await statementChannel.tracePromise(sent, { name, text, values });
      if (returnsRevision && rows[0]?.at(-1) === null) throw new NothingReadError();
      return rows;
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** Whether the connection has the most prepared statements and must be replaced. */
  isExhausted(client: ClientBase): boolean {
    return (this.prepared.get(client)?.size ?? 0) >= MAX_PREPARED;
  }

  private prepares(client: ClientBase, statement: Statement): boolean {
    const names = this.prepared.get(client) ?? new Set();
    this.prepared.set(client, names);
    if (this.used.has(statement) && names.size < MAX_PREPARED) names.add(statement.name);
    this.used.add(statement);
    return names.has(statement.name);
  }
}
