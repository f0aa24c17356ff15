import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type pg from 'pg';
import type { EntityManager } from 'typeorm';
import { destroyConnection, SocketClient } from '../../database/connections/socket-client.js';
import { settlesWithin } from '../../database/connections/settles-within.js';
import type { Leadership } from '../sync/leadership.js';

/** Milliseconds between two looks. A transaction that is shorter is not looked at, and has a second to end by itself. */
const INTERVAL = 1000;
/** Milliseconds that the database may take for one look. */
const PATIENCE = 2000;

/** An open transaction holds a lock on its own number. */
const IDENTIFY = `
  select pid, virtualtransaction as number from pg_locks
  where pid = pg_backend_pid() and locktype = 'virtualxid' and granted`;

const IS_OPEN = `(select from pg_locks o where o.pid = $1 and o.virtualtransaction = $2 and o.locktype = 'virtualxid')`;

/** The transaction, and the sessions that it waits for; a prepared transaction has the number 0. */
const LOOK = `
  select blocking.pid, a.state, exists ${IS_OPEN} as "isOpen"
  from (values (1)) one left join unnest(pg_blocking_pids($1)) as blocking (pid) on true
  left join pg_stat_activity a on a.pid = blocking.pid`;

const END = `select pg_terminate_backend($1::integer) where exists ${IS_OPEN}`;

/** Looks in succession that find no transaction, after which its connection is given up: the answer to its end may be under way. */
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
 * Looks at a transaction from a connection of its own: says when it waits for a lock that another session holds, and ends it
 * when it is told to. The process that waits for an answer cannot do either on the same connection. It also gives up a connection
 * on which an answer is waited for although the server has no such transaction any more: the network lost it.
 */
export class TransactionWatch {
  private readonly logger = new Logger('Mirror');
  private readonly ended = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private client: pg.Client | null = null;
  private isWaiting = false;
  private missed = 0;

  private constructor(
    private readonly url: string,
    private readonly connection: pg.ClientBase,
    private readonly transaction: readonly [pid: number, number: string],
    private readonly leadership: Leadership,
  ) {}

  /** @param manager of the transaction */
  static async begin(url: string, manager: EntityManager, leadership: Leadership): Promise<TransactionWatch> {
    const connection = (await manager.queryRunner?.connect()) as pg.ClientBase;
    const [row]: { pid: number; number: string }[] = await manager.query(IDENTIFY);
    if (row === undefined) throw new Error('The database does not say which transaction this is');
    return new TransactionWatch(url, connection, [row.pid, row.number], leadership);
  }

  /** @param signal ends the transaction */
  start(signal: AbortSignal): void {
    this.running = this.run(signal);
  }

  /** To be called when the transaction has ended. */
  async end(): Promise<void> {
    this.ended.abort();
    await this.running;
  }

  /** Never throws: the transaction goes on without being watched, and it is tried again. */
  private async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(INTERVAL, undefined, { signal: this.ended.signal }).catch(() => undefined);
      if (this.isEnded) break;
      try {
        await this.look(signal.aborted);
      } catch {
        await this.close();
      }
    }
    this.note([]);
    await this.close();
  }

  /** Asked anew each time: it may have happened while something was waited for. */
  private get isEnded(): boolean {
    return this.ended.signal.aborted;
  }

  private async look(isToEnd: boolean): Promise<void> {
    const client = (this.client ??= await this.open());
    if (isToEnd) await client.query(END, [...this.transaction]);
    const { rows } = await client.query<Seen>(LOOK, [...this.transaction]);
    this.note(rows.flatMap(({ pid, state }) => (pid === null ? [] : [{ pid, state }])));
    this.missed = rows[0]?.isOpen === true ? 0 : this.missed + 1;
    if (this.missed < MOST_MISSED || this.isEnded) return;
    this.logger.warn('The connection of a change was lost: it is given up');
    destroyConnection(this.connection);
  }

  private note(blocking: readonly Blocking[]): void {
    const isWaiting = blocking.length > 0;
    if (isWaiting && !this.isWaiting) {
      const sessions = blocking.map(({ pid, state }) => `${pid}${state === null ? '' : `, ${state}`}`);
      this.logger.warn(
        `A change waits for a lock that another session of the database holds (${sessions.join('; ')})`,
      );
    }
    if (!isWaiting && this.isWaiting) this.logger.log('The change no longer waits for a lock');
    this.isWaiting = isWaiting;
    this.leadership.noteWaiting(isWaiting);
  }

  private async open(): Promise<pg.Client> {
    const client = new SocketClient({
      connectionString: this.url,
      connectionTimeoutMillis: PATIENCE,
      query_timeout: PATIENCE,
    });
    // A connection that is lost makes the next look fail.
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
    await settlesWithin(PATIENCE, client.end());
    destroyConnection(client);
  }
}
