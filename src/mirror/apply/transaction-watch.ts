import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type pg from 'pg';
import type { EntityManager, DataSource } from 'typeorm';
import { destroyConnection, SocketClient } from '../../database/connections/socket-client.js';
import { settlesWithin } from '../../database/connections/settles-within.js';
import type { Leadership } from '../sync/leadership.js';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';

/** Milliseconds between two checks. A shorter transaction is not checked, and has a second to end. */
const INTERVAL = 1000;
const TIMEOUT_MS = 2000;

const WITHOUT_TIMEOUT = `set_config('statement_timeout', '0', true)`;

/** An open transaction holds a lock on its own virtual transaction ID. */
const IDENTIFY = `
  select pid, virtualtransaction as number, ${WITHOUT_TIMEOUT} from pg_locks
  where pid = pg_backend_pid() and locktype = 'virtualxid' and granted`;

const IS_OPEN = `(select from pg_locks o where o.pid = $1 and o.virtualtransaction = $2 and o.locktype = 'virtualxid')`;

/** Whether the transaction is open, and the sessions that block it (0 for a prepared transaction). */
const READ_SESSION = `
  select blocking.pid, a.state, exists ${IS_OPEN} as "isOpen"
  from (values (1)) one left join unnest(pg_blocking_pids($1)) as blocking (pid) on true
  left join pg_stat_activity a on a.pid = blocking.pid`;

const END = `select pg_terminate_backend($1::integer) where exists ${IS_OPEN}`;

/**
 * Number of consecutive checks without an open transaction before its connection is closed: after the first
 * one, the response to its end may still be in transit.
 */
const MOST_MISSED = 2;

interface Blocking {
  readonly pid: number;
  readonly state: string | null;
}

interface Seen {
  readonly pid: number | null;
  readonly state: string | null;
  readonly isOpen: boolean;
}

/**
 * Monitors a transaction over a separate connection. It logs when the transaction waits for a lock of another
 * session, and ends the transaction when the signal aborts. A process that waits for a response cannot do
 * either on the same connection. It also closes a connection that waits for a response although the server no
 * longer has the transaction, because the network has lost that response.
 */
class TransactionWatch {
  private readonly logger = new Logger('Mirror');
  private readonly ended = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private client: pg.Client | null = null;
  private missed = 0;

  private constructor(
    private readonly url: string,
    private readonly connection: pg.ClientBase,
    private readonly transaction: readonly [pid: number, number: string],
    private readonly leadership: Leadership,
  ) {}

  /** Identifies the transaction, and ends its statement timeout. */
  static async begin(url: string, manager: EntityManager, leadership: Leadership): Promise<TransactionWatch> {
    const connection = (await manager.queryRunner?.connect()) as pg.ClientBase;
    const [row]: { pid: number; number: string }[] = await manager.query(IDENTIFY);
    if (row === undefined) throw new Error('The database does not say which transaction this is');
    return new TransactionWatch(url, connection, [row.pid, row.number], leadership);
  }

  start(signal: AbortSignal): void {
    this.running = this.run(signal);
  }

  /** Must be called when the transaction has ended. */
  async end(): Promise<void> {
    this.ended.abort();
    await this.running;
  }

  /** Never throws. If a check fails, the transaction continues and the next check is tried. */
  private async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(INTERVAL, undefined, { signal: this.ended.signal }).catch(() => undefined);
      if (this.isEnded) break;
      try {
        await this.checkTransaction(signal.aborted);
      } catch {
        await this.close();
      }
    }
    this.note([]);
    await this.close();
  }

  /** Read again each time, because the transaction may have ended during a wait. */
  private get isEnded(): boolean {
    return this.ended.signal.aborted;
  }

  private async checkTransaction(isToEnd: boolean): Promise<void> {
    const client = (this.client ??= await this.open());
    if (isToEnd) await client.query(END, [...this.transaction]);
    const { rows } = await client.query<Seen>(READ_SESSION, [...this.transaction]);
    this.note(rows.flatMap(({ pid, state }) => (pid === null ? [] : [{ pid, state }])));
    this.missed = rows[0]?.isOpen === true ? 0 : this.missed + 1;
    if (this.missed < MOST_MISSED || this.isEnded) return;
    this.logger.warn('The connection of a change was lost: the change is abandoned');
    destroyConnection(this.connection);
  }

  private note(blocking: readonly Blocking[]): void {
    const isWaiting = blocking.length > 0;
    if (!this.leadership.noteWaiting('change', isWaiting)) return;
    if (isWaiting) {
      const sessions = blocking.map(({ pid, state }) => `${pid}${state === null ? '' : `, ${state}`}`);
      this.logger.warn(
        `A change waits for a lock that another session of the database holds (${sessions.join('; ')})`,
      );
    } else this.logger.log('The change no longer waits for a lock');
  }

  private async open(): Promise<pg.Client> {
    const client = new SocketClient({
      connectionString: this.url,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
    });
    // A lost connection makes the next check fail.
    client.on('error', () => undefined);
    try {
      await client.connect();
    } catch (error) {
      destroyConnection(client);
      throw error;
    }
    return client;
  }

  private async close(): Promise<void> {
    const { client } = this;
    this.client = null;
    if (client === null) return;
    await settlesWithin(TIMEOUT_MS, client.end());
    destroyConnection(client);
  }
}

/** What runs transactions: a data source, or a session of one. */
export interface TransactionSource {
  readonly options: DataSource['options'];
  transaction<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result>;
}

interface Place {
  readonly dataSource: TransactionSource;
  readonly leadership: Leadership;
}

/**
 * Runs a transaction that writes to the mirror. It is fenced by the lease and monitored, and has no statement
 * timeout.
 * @param signal aborts the transaction, even while it waits for a lock; the end of the term does too
 * @throws NotLeadingError if this process is not the leader
 */
export async function inApplyingTransaction<Result>(
  { dataSource, leadership }: Place,
  work: (manager: EntityManager) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const { url = '' } = dataSource.options as PostgresDataSourceOptions;
  const ends = [signal, leadership.signal].filter((each) => each !== undefined);
  let watch: TransactionWatch | null = null;
  try {
    return await dataSource.transaction(async (manager) => {
      watch = await TransactionWatch.begin(url, manager, leadership);
      watch.start(AbortSignal.any(ends));
      await leadership.admit(manager);
      return work(manager);
    });
  } finally {
    await (watch as TransactionWatch | null)?.end();
  }
}
