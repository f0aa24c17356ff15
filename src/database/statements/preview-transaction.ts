import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient, QueryResult } from 'pg';
import { ServiceError, ServiceUnavailableError } from '../../common/errors.js';
import { databaseError, LostRaceError } from './database-error.js';
import { NothingReadError } from '../revisions/no-revision.error.js';
import { askPatiently, PATIENTLY } from '../connections/query-with-timeout.js';
import { type Reader, readThrough } from './reader.js';
import type { Statement } from './statement.js';
import type { Writer } from './writer.js';

/** Milliseconds that an overlay takes at most, with all its attempts: a revision waits for rows that it has changed. */
const LIFE = 10_000;
/** Milliseconds that it waits for rows that a revision, or another overlay, has changed: less than a statement may take. */
const LOCK_TIMEOUT = 4000;
/** How often it is begun when others are in its way. */
const ATTEMPTS = 3;
/** Milliseconds after which it is: by then the others have what they waited for. */
const PAUSE = 25;

/** All of it sees one revision, if there is one. */
const BEGIN = `begin isolation level repeatable read; set local lock_timeout = ${LOCK_TIMEOUT};
  select revision_uuid as id from mirror_state`;

/**
 * The mirror as it would be: a transaction in which rows are changed, which nobody else sees, and which is always
 * rolled back (docs/adr/0015).
 */
export class Overlay implements Reader, Writer {
  /** The statement that was asked for last. */
  private last: Promise<unknown> = Promise.resolve();
  /** A statement has failed with this: until a savepoint mends it, the transaction answers nothing. */
  private spoiled: Error | null = null;
  /** Why nothing is sent any more. */
  private over: Error | null = null;
  /** The id of the revision that it lies over; null before it has begun. */
  revision: string | null = null;
  /** Counts what is asked. */
  counter: { statements: number } | null = null;

  private constructor(
    private readonly connection: PoolClient,
    /** Aborted, with the error to tell, when nothing can be done with the connection any more. */
    private readonly lost: AbortController,
  ) {}

  /**
   * Runs `work` in a transaction on a connection of the pool, and takes everything back, whatever happens. It is begun
   * anew when other transactions were in its way, also if whoever met them has told nobody.
   * @throws ServiceUnavailableError when no connection is free, or others are in the way again and again; ServiceError
   *   TIMEOUT after 10 seconds; whatever `work` throws
   */
  static async over<Result>(pool: Pool, work: (overlay: Overlay) => Promise<Result>): Promise<Result> {
    const connection = await pool.connect();
    const lost = new AbortController();
    const onError = (error: unknown) => {
      lost.abort(databaseError(error));
    };
    const timer = setTimeout(() => {
      lost.abort(new ServiceError('TIMEOUT', 'The preview took too long: change less at once'));
    }, LIFE);
    connection.on('error', onError);
    // Without its connection, the server rolls back.
    lost.signal.addEventListener('abort', () => {
      connection.release(true);
    });
    try {
      return await Overlay.attempt(connection, lost, work);
    } finally {
      clearTimeout(timer);
      if (!lost.signal.aborted) {
        connection.off('error', onError);
        connection.release();
      }
    }
  }

  private static async attempt<Result>(
    connection: PoolClient,
    lost: AbortController,
    work: (overlay: Overlay) => Promise<Result>,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      const overlay = new Overlay(connection, lost);
      try {
        const result = await overlay.run(work);
        if (!(overlay.over instanceof LostRaceError)) return result;
      } catch (error) {
        if (!(overlay.over instanceof LostRaceError)) throw error;
      }
      if (attempt === ATTEMPTS) throw overlay.over;
      await sleep(PAUSE * attempt);
    }
  }

  read<Row extends unknown[]>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.send(() =>
      readThrough((query) => askPatiently<Row>(this.connection, query), statement, values),
    );
  }

  query<Rows extends object[]>(text: string, values?: unknown[]): Promise<Rows> {
    return this.send(() => this.execute<Rows>(text, values));
  }

  /**
   * Runs one change among several: when it throws, nothing of it stays, and what was changed before it does.
   * @throws whatever `work` throws
   */
  async savepoint<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.query('savepoint change');
    try {
      const result = await work();
      await this.query('release savepoint change');
      return result;
    } catch (error) {
      await this.mend();
      throw error;
    }
  }

  /** Waits until nobody asks any more: what runs beside a field that has failed goes on for a while without it. */
  async settle(): Promise<void> {
    let seen: Promise<unknown> | null = null;
    while (seen !== this.last) {
      seen = this.last;
      await seen;
      await nextTurn();
    }
  }

  private async run<Result>(work: (overlay: Overlay) => Promise<Result>): Promise<Result> {
    try {
      await this.send(() => this.begin());
      return await Promise.race([work(this), whenAborted(this.lost.signal)]);
    } finally {
      await this.end();
    }
  }

  private async begin(): Promise<void> {
    // Several statements have several results, whatever the types of the driver say.
    const results: unknown = await this.connection.query({ text: BEGIN, ...PATIENTLY });
    const [state] = (results as QueryResult<{ id: string | null }>[]).at(-1)?.rows ?? [];
    if (state === undefined || state.id === null) throw new NothingReadError();
    this.revision = state.id;
  }

  private async end(): Promise<void> {
    this.over ??= new ServiceUnavailableError('The preview has ended');
    if (this.lost.signal.aborted) return;
    await this.last;
    try {
      await this.execute('rollback');
    } catch (error) {
      this.lost.abort(error);
    }
  }

  /** One after another, because resolvers ask side by side and a connection takes one statement at a time. */
  private send<Result>(statement: () => Promise<Result>): Promise<Result> {
    if (this.counter !== null) this.counter.statements++;
    const sent = this.last.then(async () => {
      this.lost.signal.throwIfAborted();
      const refusal = this.over ?? this.spoiled;
      if (refusal !== null) throw refusal;
      try {
        return await statement();
      } catch (error) {
        this.spoiled = databaseError(error);
        // Whoever has lost a race begins anew, and not from a savepoint.
        if (this.spoiled instanceof LostRaceError) this.over = this.spoiled;
        throw error;
      }
    });
    this.last = sent.catch(() => undefined);
    return sent;
  }

  /** Goes back to the savepoint, once nobody asks who has not heard of the failure yet. */
  private async mend(): Promise<void> {
    await this.settle();
    this.spoiled = null;
    await this.query('rollback to savepoint change; release savepoint change');
  }

  private async execute<Rows extends object[]>(text: string, values?: unknown[]): Promise<Rows> {
    try {
      const { rows } = await this.connection.query({ text, values, ...PATIENTLY });
      return rows as Rows;
    } catch (error) {
      throw databaseError(error);
    }
  }
}

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
}
