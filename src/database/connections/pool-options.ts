import pg from 'pg';
import { isLoopback } from '../../common/url.js';
import type { Config } from '../../config/config.js';

/** Number of statements after which a connection of a pool is replaced. */
const MOST_USES = 5000;

/** Sent first on every connection, because roles and databases may have other defaults. */
export const SESSION_SETTINGS = `
  set datestyle = 'ISO, YMD'; set bytea_output = 'hex'; set extra_float_digits = 1; set standard_conforming_strings = on;
  set default_transaction_isolation = 'read committed'; set default_transaction_deferrable = off;
  set idle_session_timeout = 0; set lock_timeout = 0`;

/** A warning if a password crosses the network to PostgreSQL unencrypted; null if it does not. */
export function unencryptedPassword({ url, readUrl }: Config['database']): string | null {
  const hosts = [url, ...(readUrl === null ? [] : [readUrl])].flatMap((connectionString) => {
    // The driver decides, also by its variables, such as PGSSLMODE.
    const { host, password, ssl } = new pg.Client({ connectionString });
    const isLocal = host.startsWith('/') || isLoopback(host);
    return isLocal || ssl || (password ?? '') === '' ? [] : [host];
  });
  if (hosts.length === 0) return null;
  return `The password of PostgreSQL and all data cross the network to ${[...new Set(hosts)].join(' and ')} unencrypted: add ?sslmode=verify-full to the URL`;
}

/** Options of a pool of at most `max` connections to a server. They are opened on demand. */
export function poolOptions(max: number, { statement, idle, connection }: DatabaseTimeLimits): object {
  // Planning small pages again each time costs more than it gains (docs/adr/0004). JIT compilation is off because the planner
  // overestimates most statements and compiling them takes longer than running them.
  const text =
    `${SESSION_SETTINGS}; set plan_cache_mode = force_generic_plan; set enable_memoize = off; set jit = off; ` +
    `set statement_timeout = ${statement}; set idle_in_transaction_session_timeout = ${idle}`;
  return {
    max,
    connectionTimeoutMillis: connection,
    keepAlive: true,
    // A prepared statement takes about 100 kB of the server's memory until its connection ends.
    maxUses: MOST_USES,
    pipeline: true,
    onConnect: async (client: pg.ClientBase) => {
      // A query on a lost connection rejects its own promise, and the pool notices lost idle connections.
      client.on('error', () => undefined);
      // A connection that does not answer is useless.
      const query = { text, query_timeout: connection };
      await client.query(query);
    },
  };
}

/** A pool beside that of TypeORM. */
export function createPool(connectionString: string, options: object): pg.Pool {
  const pool = new pg.Pool({ connectionString, ...options });
  // An idle connection was lost. The next user opens another one.
  pool.on('error', () => undefined);
  return pool;
}

export type DatabaseTimeLimits = ReturnType<typeof timeLimitsFor>;

/** Time limits of work in the database, in milliseconds. @param seconds the limit of a statement: see DATABASE_TIMEOUT_SECONDS */
export function timeLimitsFor(seconds: number) {
  return {
    /** A statement of a request. The mirror lifts this limit for its own writes. */
    statement: seconds * 1000,
    /** The wait for a connection, before a request is rejected as retryable. */
    connection: seconds * 400,
    /** The wait of a preview for locks of a revision or another preview: shorter than a statement. */
    lock: seconds * 800,
    /** The wait for the result of a statement. It exceeds the limit of a statement, which the server itself cancels. */
    result: seconds * 1000 + 1000,
    /** All statements of a preview together, because a revision waits for the rows that it has changed. */
    preview: seconds * 2000,
    /** A transaction without statements, which the server then ends because its locks block others. Previews end before. */
    idle: seconds * 4000,
  };
}
