import { LRUCache } from 'lru-cache';
import type { ClientBase, Pool, PoolClient, QueryArrayResult } from 'pg';
import { databaseError } from '../statements/database-error.js';
import { NothingReadError } from '../revisions/revision.js';
import {
  answeredChannel,
  type SentStatement,
  statementChannel,
  type Statement,
} from '../statements/statement.js';
import { Pipelines } from './pipelined-connections.js';
import { destroyConnection } from './socket-client.js';
import type { DatabaseTimeLimits } from './time-limits.js';

/** Prepared statements of a connection: each takes about 100 kB of the server's memory. */
const MAX_PREPARED = 100;
/** The names of this many statements that were used at least once are remembered. */
const MAX_USED = 2000;
const TIMEOUT_CHECK_INTERVAL_MS = 500;

type Callback = (error: Error | null, rows: unknown[]) => void;

interface Unanswered {
  readonly client: ClientBase;
  /** Milliseconds on the clock of `performance.now()`. */
  readonly sentAt: number;
}

/**
 * Runs statements on the connections of one pool; short statements share connections (docs/adr/0031).
 * A statement is prepared from its second use on, because most selections are used once. A connection with too
 * many prepared statements is replaced, because the driver cannot close single ones.
 */
export class StatementPool {
  private readonly used = new LRUCache<string, true>({ max: MAX_USED });
  /** By connection: the names that it has prepared; false until the server has confirmed the first use. */
  private readonly prepared = new WeakMap<ClientBase, Map<string, boolean>>();
  private readonly exhausted = new WeakSet<ClientBase>();
  /** Oldest first. */
  private readonly unanswered = new Set<Unanswered>();
  private timer: NodeJS.Timeout | null = null;
  private readonly pipelines: Pipelines;

  constructor(
    private readonly pool: Pool,
    private readonly limits: DatabaseTimeLimits,
  ) {
    this.pipelines = new Pipelines(pool, this);
  }

  /**
   * Runs one statement on a connection of the pool.
   * @throws NothingReadError if there is no revision; ServiceError TIMEOUT; ServiceUnavailableError
   */
  read<Row extends unknown[]>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return observe(statement, values, (done) => {
      if (!statement.isShort || !this.pipelines.send(statement, values, done)) {
        this.runAlone(statement, values, done);
      }
    });
  }

  /** Runs one statement on a connection that the caller holds; it throws as `read` does. */
  readOn<Row extends unknown[]>(
    client: ClientBase,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    return observe(statement, values, (done) => {
      this.sendOn(client, statement, values, done);
    });
  }

  sendOn(client: ClientBase, statement: Statement, values: readonly unknown[], done: Callback): void {
    const { text } = statement;
    const unanswered = { client, sentAt: performance.now() };
    this.unanswered.add(unanswered);
    this.timer ??= setInterval(() => {
      this.endHangingConnections();
    }, TIMEOUT_CHECK_INTERVAL_MS).unref();
    const prepared = this.namesOn(client);
    const name = this.chooseName(client, statement.name);
    const query = { text, values: [...values], rowMode: 'array' as const };
    const config = name === null ? { ...query, queryMode: 'extended' } : { ...query, name };
    client.query(config, (error: Error | null | undefined, result: QueryArrayResult) => {
      this.unanswered.delete(unanswered);
      if (name !== null && !error) prepared.set(name, true);
      done(error ?? null, error ? [] : result.rows);
    });
  }

  /** Whether the connection has reached its limit of prepared statements and must be replaced. */
  isExhausted(client: ClientBase): boolean {
    return this.exhausted.has(client);
  }

  private runAlone(statement: Statement, values: readonly unknown[], done: Callback): void {
    this.pool.connect((failure, client: PoolClient | undefined, release) => {
      if (client === undefined) {
        done(failure ?? new Error('Connection terminated'), []);
        return;
      }
      this.sendOn(client, statement, values, (error, rows) => {
        release(error ?? this.isExhausted(client));
        done(error, rows);
      });
    });
  }

  /**
   * Null: the statement runs without a name. This is also so while another query prepares the statement under its name, because
   * the failure of that query would fail this one.
   */
  private chooseName(client: ClientBase, name: string): string | null {
    const prepared = this.namesOn(client);
    const state = prepared.get(name);
    if (state !== undefined) return state ? name : null;
    if (this.used.get(name) === undefined) {
      this.used.set(name, true);
      return null;
    }
    if (prepared.size >= MAX_PREPARED) {
      this.exhausted.add(client);
      return null;
    }
    prepared.set(name, false);
    return name;
  }

  private namesOn(client: ClientBase): Map<string, boolean> {
    let names = this.prepared.get(client);
    if (names === undefined) {
      names = new Map();
      this.prepared.set(client, names);
    }
    return names;
  }

  /** One timer checks all queries. The driver's timer per query keeps the rows of later queries in memory. */
  private endHangingConnections(): void {
    const now = performance.now();
    for (const each of this.unanswered) {
      if (now - each.sentAt < this.limits.result) break;
      this.unanswered.delete(each);
      destroyConnection(each.client);
    }
    if (this.unanswered.size > 0 || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }
}

/** Publishes a statement for traces and tests, and maps its errors to codes for clients. */
function observe<Row extends unknown[]>(
  statement: Statement,
  values: readonly unknown[],
  send: (done: Callback) => void,
): Promise<Row[]> {
  const { name, text } = statement;
  let sent: SentStatement | null = null;
  if (statementChannel.hasSubscribers) {
    sent = { name, text, values, hasFailed: false };
    statementChannel.publish(sent);
  }
  return new Promise((resolve, reject) => {
    send((error, rows) => {
      const isEmpty =
        error === null && statement.returnsRevision && (rows[0] as Row | undefined)?.at(-1) === null;
      if (sent !== null) {
        sent.hasFailed = error !== null || isEmpty;
        answeredChannel.publish(sent);
      }
      if (error !== null) reject(databaseError(error));
      else if (isEmpty) reject(new NothingReadError());
      else resolve(rows as Row[]);
    });
  });
}
