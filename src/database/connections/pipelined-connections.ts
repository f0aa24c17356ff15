import type { Pool, PoolClient } from 'pg';
import { socketOf } from './close-socket.js';
import { queryPatiently, watch } from './query-with-timeout.js';
import { sendPrepared } from '../statements/prepared-query.js';
import type { NamedQuery } from '../statements/statement.js';

/** Connections of a pool that are shared at most. One is enough for what a process can take in; two have two servers at work. */
const MOST_SHARED = 2;
/** Connections of a pool for each that is shared: whoever needs one alone does not find all of them taken. */
const FOR_EACH = 4;
/** Milliseconds without an answer after which nobody joins those who wait for one. */
const PATIENCE = 10;

/** Somebody who waits for an answer. */
interface Asked {
  readonly query: NamedQuery;
  readonly resolve: (rows: never[]) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Connections of a pool on which several short statements are under way at once (PostgreSQL 15, §34.5). What comes in one
 * turn of the event loop leaves as one, and nothing waits for the answer to what was sent before it. Each statement is a
 * transaction of its own and fails by itself; a connection that breaks off takes all that wait on it along.
 */
export class SharedConnections {
  private readonly lanes: readonly Lane[];
  /** Where everything goes in this turn; null: nothing has come in it yet. */
  private current: Lane | null = null;

  constructor(private readonly pool: Pool) {
    const size = Math.min(MOST_SHARED, Math.floor(pool.options.max / FOR_EACH));
    this.lanes = Array.from({ length: size }, () => new Lane(pool));
  }

  /** Runs a short statement: a slow one would keep those waiting that come after it. */
  query<Row extends unknown[]>(query: NamedQuery): Promise<Row[]> {
    const lane = this.current ?? this.choose();
    if (lane === null) return queryPatiently<Row>(this.pool, query);
    return new Promise((resolve, reject) => {
      lane.add({ query, resolve, reject });
    });
  }

  /** Of those on which nothing is held up, the one with the least to do; null: there is none. */
  private choose(): Lane | null {
    const now = performance.now();
    let chosen: Lane | null = null;
    for (const lane of this.lanes) {
      if (!lane.isHeldUp(now) && lane.load < (chosen?.load ?? Infinity)) chosen = lane;
    }
    if (chosen === null) return null;
    this.current = chosen;
    setImmediate(() => {
      this.current = null;
      chosen.sendOff();
    });
    return chosen;
  }
}

/** A connection that is taken from the pool when somebody comes, and given back when nobody is left. */
class Lane {
  private connection: SharedConnection | null = null;
  private waiting: Asked[] = [];
  /** Since when a connection is being opened, on the clock of `performance.now()`; null: none is. */
  private openingSince: number | null = null;

  constructor(private readonly pool: Pool) {}

  /** How many wait for an answer. */
  get load(): number {
    return this.waiting.length + (this.connection?.underWay ?? 0);
  }

  isHeldUp(now: number): boolean {
    const since = this.openingSince ?? this.connection?.heardAt;
    return since !== undefined && now - since > PATIENCE;
  }

  add(asked: Asked): void {
    this.waiting.push(asked);
  }

  sendOff(): void {
    if (this.connection !== null) this.connection.send(this.takeAll());
    else if (this.openingSince === null) this.open();
  }

  private open(): void {
    this.openingSince = performance.now();
    this.pool.connect((failure, client, release) => {
      this.openingSince = null;
      const all = this.takeAll();
      if (client === undefined) {
        for (const { reject } of all) reject(failure ?? new Error('Connection terminated'));
        return;
      }
      const connection = new SharedConnection(client, release, () => {
        if (this.connection === connection) this.connection = null;
      });
      this.connection = connection;
      connection.send(all);
    });
  }

  private takeAll(): Asked[] {
    const all = this.waiting;
    this.waiting = [];
    return all;
  }
}

class SharedConnection {
  underWay = 0;
  /** When it last answered, or began to be waited for, on the clock of `performance.now()`. */
  heardAt = performance.now();
  private failure: Error | undefined;

  /** @param onClosed nobody is to ask it for more */
  constructor(
    private readonly client: PoolClient,
    private readonly release: (failure?: Error) => void,
    private readonly onClosed: () => void,
  ) {}

  send(all: readonly Asked[]): void {
    const socket = socketOf(this.client);
    this.underWay += all.length;
    socket.cork();
    for (const asked of all) this.sendOne(asked);
    socket.uncork();
  }

  private sendOne({ query, resolve, reject }: Asked): void {
    const forget = watch(this.client);
    sendPrepared(this.client, query, (error, result) => {
      forget();
      this.note(error);
      if (error === null) resolve(result.rows as never[]);
      else reject(error);
    });
  }

  private note(error: Error | null): void {
    this.heardAt = performance.now();
    this.underWay--;
    // The pool is to look at it before it is used again.
    this.failure ??= error ?? undefined;
    if (this.failure !== undefined || this.underWay === 0) this.onClosed();
    if (this.underWay === 0) this.release(this.failure);
  }
}
