import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { SESSION_SETTINGS } from '../database/connections/pool-options.js';
import { settlesWithin } from '../common/settles-within.js';
import type { Writer } from '../database/statements/statement.js';
import { LEADER_LOCK, RULES_LOCK } from '../database/visibility/rules-in-mirror.js';

/** Milliseconds to connect, and to end a session. */
const CONNECT_TIMEOUT_MS = 5000;
const PARTING_MS = 500;
/** Milliseconds between two signs of life. */
const INTERVAL_MS = 2000;
/** Seconds without a sign of life after which each side ends the session: the process may be paused, or the network away. */
const IDLE_SECONDS = 15;
/** SQL for a row of pg_stat_activity. */
const BACKEND = `pid || ' ' || backend_start`;
/** A revision sorts whole tables, in memory as far as a small server allows it. */
const SETTINGS = `
  ${SESSION_SETTINGS}; set statement_timeout = 0; set jit = off; set work_mem = '64MB'; set maintenance_work_mem = '128MB';
  set idle_session_timeout = '${IDLE_SECONDS}s'; set idle_in_transaction_session_timeout = '${IDLE_SECONDS}s'`;

/** Its own socket can be closed without a word to a server that hangs. */
class SocketClient extends pg.Client {
  readonly socket: Socket;

  constructor(config: pg.ClientConfig) {
    const socket = new Socket();
    super({ ...config, stream: () => socket });
    this.socket = socket;
  }
}

/** A session of its own at the database, with its temporary tables and locks. If its connection is lost silently, both sides end it. */
export class Session implements Writer {
  /** Number of statements without an answer, and the time since when there is one. */
  private pending = 0;
  private since = 0;
  private isAsking = false;
  /** The process of the server, which no other server has. */
  private backend = '';
  private checked = performance.now();
  private readonly timer: NodeJS.Timeout;

  private constructor(
    private readonly url: string,
    private readonly client: SocketClient,
  ) {
    this.timer = setInterval(() => void this.watch(), INTERVAL_MS);
    this.timer.unref();
    this.onEnd(() => {
      clearInterval(this.timer);
    });
  }

  static async open(url: string): Promise<Session> {
    const client = await connect(url);
    const session = new Session(url, client);
    try {
      const [own] = await session.query<{ backend: string }[]>(
        `${SETTINGS}; select ${BACKEND} as backend from pg_stat_activity where pid = pg_backend_pid()`,
      );
      session.backend = own?.backend ?? '';
      return session;
    } catch (error) {
      session.destroy();
      throw error;
    }
  }

  /** @param text one statement, or several without values, of which the last one returns the rows */
  async query<Rows extends object[]>(text: string, values?: unknown[]): Promise<Rows> {
    if (this.pending++ === 0) this.since = performance.now();
    try {
      const result: unknown = await this.client.query({ text, ...(values !== undefined && { values }) });
      const last = (Array.isArray(result) ? result.at(-1) : result) as pg.QueryResult;
      return last.rows as Rows;
    } finally {
      this.pending--;
      this.since = performance.now();
    }
  }

  /** Called when the server or the network ends the session, or it is destroyed. */
  onEnd(listener: () => void): void {
    this.client.on('end', listener);
  }

  /** Ends the session at once. The server rolls back its transaction. */
  destroy(): void {
    clearInterval(this.timer);
    this.client.socket.destroy();
  }

  async close(): Promise<void> {
    await settlesWithin(PARTING_MS, this.client.end());
    this.destroy();
  }

  private async watch(): Promise<void> {
    if (this.pending === 0) {
      this.isAsking = true;
      // In a failed transaction, this fails as well.
      await this.query('select').catch(() => undefined);
      this.isAsking = false;
      // After a failover, new connections lead to another server, while this one stays at the former primary.
      if (performance.now() - this.checked < IDLE_SECONDS * 1000) return;
      this.checked = performance.now();
      if (!(await this.isAtServer())) this.destroy();
    } else if (performance.now() - this.since > IDLE_SECONDS * 1000) {
      if (this.isAsking || !(await this.isAtServer())) this.destroy();
    }
  }

  /** Whether the server to which new connections lead has the session. A statement may take, or wait for a lock, as long as it has to. */
  private async isAtServer(): Promise<boolean> {
    this.since = performance.now();
    try {
      const client = await connect(this.url);
      try {
        const text = `select from pg_stat_activity where ${BACKEND} = $1`;
        const { rowCount } = await client.query(text, [this.backend]);
        return rowCount !== 0;
      } finally {
        await settlesWithin(PARTING_MS, client.end());
        client.socket.destroy();
      }
    } catch {
      // The server may be busy. If it is away, the session of the leader ends as well.
      return true;
    }
  }
}

async function connect(url: string): Promise<SocketClient> {
  const client = new SocketClient({
    connectionString: url,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A lost connection makes the next statement fail.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.socket.destroy();
    throw error;
  }
}

/** Milliseconds between two attempts to get the lock. */
const LOCK_INTERVAL_MS = 2000;

/** This process does not follow the directory, or no longer does, and must not write to the mirror. */
export class NotLeadingError extends Error {
  constructor() {
    super('This process does not follow the directory');
  }
}

/** The time during which this process follows the directory. */
export interface Term {
  /** Increases with each leader. Each revision and state of the mirror checks that it is still the latest one. */
  readonly number: number;
  /** Holds the lock, and writes the revisions: they end together. */
  readonly session: Session;
  /** Aborted when another process may lead, or this one ends. */
  readonly signal: AbortSignal;
}

/**
 * Runs some work in one process at a time (docs/adr/0033), by an advisory lock of the session with which it writes. A process that
 * ends releases the lock with its connection. One that hangs gives no sign of life, and the server ends its session.
 * @param rules the number of the rules of visibility of this process
 * @param onWait called when another process leads
 * @throws the error of the connection, or of the work
 */
export async function withLeadership(
  url: string,
  work: (term: Term) => Promise<void>,
  signal: AbortSignal,
  rules: number,
  onWait: () => void,
): Promise<void> {
  const session = await Session.open(url);
  const lost = new AbortController();
  session.onEnd(() => {
    lost.abort(new NotLeadingError());
  });
  const either = AbortSignal.any([signal, lost.signal]);
  try {
    await session.query(`select pg_advisory_lock_shared(${RULES_LOCK}, ${rules})`);
    const lock = `select from pg_try_advisory_lock(${LEADER_LOCK}) as is_held where is_held`;
    while ((await session.query(lock)).length === 0) {
      onWait();
      await sleep(LOCK_INTERVAL_MS, undefined, { signal: either });
    }
    // It waits for transactions of commands, and of tasks of the former leader.
    const [state] = await session.query<{ leader: string }[]>(
      'update mirror_state set leader = leader + 1 returning leader',
    );
    await work({ number: Number(state?.leader), session, signal: either });
  } finally {
    await session.close();
  }
}
