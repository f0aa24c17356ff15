import { LRUCache } from 'lru-cache';
import type { ClientBase, Pool, QueryArrayResult } from 'pg';
import { NothingReadError } from '../revisions/revision.js';
import { databaseError } from '../statements/database-error.js';
import {
  answeredChannel,
  type SentStatement,
  type Statement,
  statementChannel,
} from '../statements/statement.js';
import type { DatabaseTimeLimits } from './pool-options.js';

/** Prepared statements of a connection: each takes about 100 kB of the server's memory. */
const MAX_PREPARED = 100;
/** The names of this many statements that were used at least once are remembered. */
const MAX_USED = 2000;

/**
 * Runs statements on the connections of a pool. A statement is prepared from its second use on, because most selections are used
 * once. A connection with too many prepared statements is replaced, because the driver cannot close single ones.
 */
export class StatementPool {
  private readonly used = new LRUCache<string, true>({ max: MAX_USED });
  private readonly prepared = new WeakMap<ClientBase, Set<string>>();
  private readonly exhausted = new WeakSet<ClientBase>();

  constructor(
    private readonly pool: Pool,
    private readonly limits: DatabaseTimeLimits,
  ) {}

  /**
   * Runs one statement on a connection of the pool.
   * @throws NothingReadError if there is no revision; ServiceError TIMEOUT; ServiceUnavailableError
   */
  read<Row extends unknown[]>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return observe(statement, values, async () => {
      const client = await this.pool.connect();
      let failure: Error | undefined;
      try {
        return await this.send<Row>(client, statement, values);
      } catch (error) {
        failure = error as Error;
        throw error;
      } finally {
        client.release(failure ?? this.isExhausted(client));
      }
    });
  }

  /** Runs one statement on a connection that the caller holds; it throws as `read` does. */
  readOn<Row extends unknown[]>(
    client: ClientBase,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    return observe(statement, values, () => this.send<Row>(client, statement, values));
  }

  /** Whether the connection has reached its limit of prepared statements and must be replaced. */
  isExhausted(client: ClientBase): boolean {
    return this.exhausted.has(client);
  }

  private async send<Row extends unknown[]>(
    client: ClientBase,
    { name, text }: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const kind = this.prepares(client, name) ? { name } : { queryMode: 'extended' };
    const query = { ...kind, text, values: [...values], rowMode: 'array', query_timeout: this.limits.result };
    const { rows } = (await client.query(query)) as unknown as QueryArrayResult<Row>;
    return rows;
  }

  private prepares(client: ClientBase, name: string): boolean {
    const names = this.prepared.get(client) ?? new Set();
    this.prepared.set(client, names);
    if (names.has(name)) return true;
    if (this.used.get(name) === undefined) {
      this.used.set(name, true);
      return false;
    }
    if (names.size < MAX_PREPARED) names.add(name);
    else this.exhausted.add(client);
    return names.has(name);
  }
}

/** Publishes a statement for traces and tests, and maps its errors to codes for clients. */
async function observe<Row extends unknown[]>(
  { name, text, returnsRevision }: Statement,
  values: readonly unknown[],
  send: () => Promise<Row[]>,
): Promise<Row[]> {
  const sent: SentStatement | null = statementChannel.hasSubscribers
    ? { name, text, values, hasFailed: true }
    : null;
  if (sent !== null) statementChannel.publish(sent);
  try {
    const rows = await send();
    if (returnsRevision && rows[0]?.at(-1) === null) throw new NothingReadError();
    if (sent !== null) sent.hasFailed = false;
    return rows;
  } catch (error) {
    throw databaseError(error);
  } finally {
    if (sent !== null) answeredChannel.publish(sent);
  }
}
