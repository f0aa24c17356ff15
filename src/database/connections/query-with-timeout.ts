import type { Pool, PoolClient } from 'pg';
import { breakOff } from './close-socket.js';
import { sendPrepared } from '../statements/prepared-query.js';
import type { NamedQuery } from '../statements/statement.js';

/**
 * Milliseconds after which a connection is given up that says nothing. Above the time that a statement may take, so
 * that it is the database that speaks first when there is one.
 */
const PATIENCE = 7000;
/** The same, as the driver takes it for a single query. */
export const PATIENTLY = { query_timeout: PATIENCE };

/** Milliseconds between two looks. */
const INTERVAL = 500;

interface Asked {
  readonly client: PoolClient;
  /** Milliseconds on the clock of `performance.now()`. */
  readonly at: number;
}

/** Oldest first. */
const underWay = new Set<Asked>();
let looking: NodeJS.Timeout | null = null;

/** Runs one statement on a connection of the pool, as `pool.query` does, and gives the connection up when it says nothing. */
export function queryPatiently<Row extends unknown[]>(pool: Pool, query: NamedQuery): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    pool.connect((failure, client, release) => {
      if (client === undefined) {
        reject(failure ?? new Error('Connection terminated'));
        return;
      }
      ask(client, query, (error, rows) => {
        release(error ?? undefined);
        if (error === null) resolve(rows as Row[]);
        else reject(error);
      });
    });
  });
}

/** Runs one statement on a connection that the caller has, likewise. */
export function askPatiently<Row extends unknown[]>(client: PoolClient, query: NamedQuery): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    ask(client, query, (error, rows) => {
      if (error === null) resolve(rows as Row[]);
      else reject(error);
    });
  });
}

/**
 * The driver has a setting for the time that a query may take, with a timer for each: they hang together, and what V8 has
 * found to be old among them keeps the rows of all that come after it.
 */
function ask(
  client: PoolClient,
  query: NamedQuery,
  callback: (error: Error | null, rows: unknown[]) => void,
): void {
  const forget = watch(client);
  sendPrepared(client, query, (error, result) => {
    forget();
    callback(error, error === null ? result.rows : []);
  });
}

/**
 * Gives a connection up when it says nothing to one query.
 * @returns to be called when that is answered
 */
export function watch(client: PoolClient): () => void {
  const asked = { client, at: performance.now() };
  underWay.add(asked);
  looking ??= setInterval(look, INTERVAL).unref();
  return () => underWay.delete(asked);
}

function look(): void {
  const now = performance.now();
  for (const asked of underWay) {
    if (now - asked.at < PATIENCE) break;
    underWay.delete(asked);
    // The query fails by that.
    breakOff(asked.client);
  }
  if (underWay.size > 0 || looking === null) return;
  clearInterval(looking);
  looking = null;
}
