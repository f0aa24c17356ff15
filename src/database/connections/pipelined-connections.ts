import type { Pool, PoolClient } from 'pg';
import type { Statement } from '../statements/statement.js';
import type { SocketClient } from './socket-client.js';

/** One shared connection carries as much as a process can receive; two let two backends work. */
const MAX_PIPELINES = 2;
/** Connections of the pool for each shared one, so that some stay for statements that run alone. */
const CONNECTIONS_PER_PIPELINE = 4;
/** A connection that has not answered for this time gets no further statements. */
const STALL_TIMEOUT_MS = 10;

interface Pending {
  readonly statement: Statement;
  readonly values: readonly unknown[];
  readonly done: (error: Error | null, rows: unknown[]) => void;
}

interface Sender {
  sendOn(client: PoolClient, statement: Statement, values: readonly unknown[], done: Pending['done']): void;
  isExhausted(client: PoolClient): boolean;
}

/**
 * Connections with several statements in flight (PostgreSQL 15, §34.5), sent in one write per turn of the
 * event loop. Each statement fails alone, unless the connection is lost.
 */
export class Pipelines {
  private readonly pipelines: readonly Pipeline[];
  /** Takes all statements of this turn of the event loop; null before the first. */
  private current: Pipeline | null = null;

  constructor(pool: Pool, sender: Sender) {
    const size = Math.min(MAX_PIPELINES, Math.floor(pool.options.max / CONNECTIONS_PER_PIPELINE));
    this.pipelines = Array.from({ length: size }, () => new Pipeline(pool, sender));
  }

  /** Returns false if no connection can take the statement now. */
  send(statement: Statement, values: readonly unknown[], done: Pending['done']): boolean {
    const pipeline = this.current ?? this.choose();
    pipeline?.pending.push({ statement, values, done });
    return pipeline !== null;
  }

  /** The connection with the fewest unanswered statements among those that have not stalled. */
  private choose(): Pipeline | null {
    const now = performance.now();
    let chosen: Pipeline | null = null;
    for (const pipeline of this.pipelines) {
      if (!pipeline.isStalled(now) && pipeline.load < (chosen?.load ?? Infinity)) chosen = pipeline;
    }
    if (chosen === null) return null;
    this.current = chosen;
    setImmediate(() => {
      this.current = null;
      chosen.flush();
    });
    return chosen;
  }
}

/** One shared connection at a time, taken from the pool only while statements are in flight. */
class Pipeline {
  pending: Pending[] = [];
  private connection: PipelinedConnection | null = null;
  /** When the opening of a connection began, by `performance.now()`; null if none is being opened. */
  private openingSince: number | null = null;

  constructor(
    private readonly pool: Pool,
    private readonly sender: Sender,
  ) {}

  get load(): number {
    return this.pending.length + (this.connection?.unanswered ?? 0);
  }

  isStalled(now: number): boolean {
    const since = this.openingSince ?? this.connection?.answeredAt;
    return since !== undefined && now - since > STALL_TIMEOUT_MS;
  }

  flush(): void {
    if (this.connection !== null) this.connection.send(this.takePending());
    else if (this.openingSince === null) this.open();
  }

  private open(): void {
    this.openingSince = performance.now();
    this.pool.connect((failure, client: PoolClient | undefined, release) => {
      this.openingSince = null;
      const pending = this.takePending();
      if (client === undefined) {
        for (const { done } of pending) done(failure ?? new Error('Connection terminated'), []);
        return;
      }
      const connection = new PipelinedConnection(
        client as PoolClient & SocketClient,
        this.sender,
        release,
        () => {
          if (this.connection === connection) this.connection = null;
        },
      );
      this.connection = connection;
      connection.send(pending);
    });
  }

  private takePending(): Pending[] {
    const { pending } = this;
    this.pending = [];
    return pending;
  }
}

class PipelinedConnection {
  unanswered = 0;
  /** When it last answered, or was opened, on the clock of `performance.now()`. */
  answeredAt = performance.now();
  private failure: Error | null = null;

  /** @param onClosing called when no further statements may be sent */
  constructor(
    private readonly client: PoolClient & SocketClient,
    private readonly sender: Sender,
    private readonly release: (failure?: Error | boolean) => void,
    private readonly onClosing: () => void,
  ) {}

  send(pending: readonly Pending[]): void {
    const { socket } = this.client;
    this.unanswered += pending.length;
    socket.cork();
    for (const { statement, values, done } of pending) {
      this.sender.sendOn(this.client, statement, values, (error, rows) => {
        this.note(error);
        done(error, rows);
      });
    }
    socket.uncork();
    if (this.sender.isExhausted(this.client)) this.onClosing();
  }

  private note(error: Error | null): void {
    this.answeredAt = performance.now();
    this.unanswered--;
    // The pool closes a connection on which a statement has failed.
    this.failure ??= error;
    if (this.failure !== null || this.unanswered === 0) this.onClosing();
    if (this.unanswered === 0) this.release(this.failure ?? this.sender.isExhausted(this.client));
  }
}
