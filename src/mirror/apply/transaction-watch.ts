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

/** The start tells the transaction from a later one of the same session. */
const IDENTIFY = 'select pg_backend_pid() as pid, transaction_timestamp()::text as started';

/** The sessions that it waits for; a prepared transaction has the number 0. */
const LOOK = `
  select pid, (select state from pg_stat_activity a where a.pid = blocking.pid) as state
  from unnest(pg_blocking_pids($1)) as blocking (pid)`;

const END = `
  select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and xact_start = $2::timestamptz`;

interface Blocking {
  readonly pid: number;
  readonly state: string | null;
}

/**
 * Looks at a transaction from a connection of its own: says when it waits for a lock that another session holds, and ends it
 * when it is told to. The process that waits for an answer cannot do either on the same connection.
 */
export class TransactionWatch {
  private readonly logger = new Logger('Mirror');
  private readonly ended = new AbortController();
  private client: pg.Client | null = null;
  private isWaiting = false;

  private constructor(
    private readonly url: string,
    private readonly pid: number,
    private readonly started: string,
    private readonly leadership: Leadership,
  ) {}

  /** @param manager of the transaction */
  static async begin(url: string, manager: EntityManager, leadership: Leadership): Promise<TransactionWatch> {
    const [row]: { pid: number; started: string }[] = await manager.query(IDENTIFY);
    if (row === undefined) throw new Error('The database does not say which transaction this is');
    return new TransactionWatch(url, row.pid, row.started, leadership);
  }

  /** Never throws: the transaction goes on without being watched, and it is tried again. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(INTERVAL, undefined, { signal: this.ended.signal }).catch(() => undefined);
      if (this.ended.signal.aborted) break;
      try {
        await this.look(signal.aborted);
      } catch {
        await this.close();
      }
    }
    this.note([]);
    await this.close();
  }

  end(): void {
    this.ended.abort();
  }

  private async look(isToEnd: boolean): Promise<void> {
    const client = (this.client ??= await this.open());
    if (isToEnd) await client.query(END, [this.pid, this.started]);
    else this.note((await client.query<Blocking>(LOOK, [this.pid])).rows);
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
