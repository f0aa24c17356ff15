import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { breakOff } from './break-off.js';
import { settlesWithin } from './settles-within.js';

/** Milliseconds between two attempts, and between two looks whether the connection is still there. */
const INTERVAL = 3000;
/** Milliseconds after which a connection that was lost is opened anew. */
const PAUSE = 1000;
/** Milliseconds that saying good-bye may take. */
const PARTING = 500;
/** Milliseconds that such a look may take. */
const PATIENCE = 5000;

/**
 * A host that vanishes says no good-bye: the server asks for it after this many seconds of silence, and gives the
 * lock away when nothing comes back.
 */
const KEEP_ALIVE =
  'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 2';

export interface SessionLockEvents {
  /** Somebody else holds the lock. */
  readonly onWait: () => void;
  /** The database is away, or has taken the lock back; it is tried again. */
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Does some work in one process at a time: in the one that holds an advisory lock of PostgreSQL, for as long as its
 * connection lives. Whoever dies gives it back, so that another one takes over within seconds.
 * @param url of the database
 * @param work is told by its signal when the lock is lost
 */
export async function withSessionLock(
  url: string,
  key: number,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  { onWait, onTrouble }: SessionLockEvents,
): Promise<void> {
  while (!signal.aborted) {
    const client = new pg.Client({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: PATIENCE,
      query_timeout: PATIENCE,
    });
    const lost = new AbortController();
    const lose = (error?: unknown) => {
      if (!lost.signal.aborted && !signal.aborted) onTrouble(error);
      lost.abort();
    };
    client.on('error', lose);
    client.on('end', lose);
    try {
      await client.connect();
      await client.query(KEEP_ALIVE);
      const either = AbortSignal.any([signal, lost.signal]);
      if (await acquire(client, key, either, onWait)) {
        const watching = watch(client, either, lose);
        await work(either);
        lost.abort();
        await watching;
      }
    } catch (error) {
      lose(error);
    } finally {
      lost.abort();
      await settlesWithin(PARTING, client.end());
      breakOff(client);
    }
    await sleep(PAUSE, undefined, { signal }).catch(() => undefined);
  }
}

/** @returns whether the lock is held; not when the signal was first */
async function acquire(
  client: pg.Client,
  key: number,
  signal: AbortSignal,
  onWait: () => void,
): Promise<boolean> {
  while (!signal.aborted) {
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [key]);
    if (rows[0]?.held === true) return true;
    onWait();
    await sleep(INTERVAL, undefined, { signal }).catch(() => undefined);
  }
  return false;
}

/** A connection that was cut without a word is found out by using it. */
async function watch(client: pg.Client, signal: AbortSignal, lose: (error: unknown) => void): Promise<void> {
  for (;;) {
    await sleep(INTERVAL, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    await client.query('select 1').catch(lose);
  }
}
