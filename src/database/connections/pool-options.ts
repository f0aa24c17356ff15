import pg from 'pg';
import type { ClientBase } from 'pg';
import { isLoopback } from '../../common/url.js';
import type { Config } from '../../config/config.js';
import { SESSION_SETTINGS, SocketClient, destroyConnection, socketOf } from './socket-client.js';
import type { DatabaseTimeLimits } from './time-limits.js';

/** Settings that every connection receives once. */
const greeting = ({ statement }: DatabaseTimeLimits) =>
  // Planning small pages again each time costs more than it gains (docs/adr/0004). JIT compilation is off
  // because the planner overestimates most statements and compiling them takes longer than running them.
  `${SESSION_SETTINGS}; set plan_cache_mode = force_generic_plan; set enable_memoize = off; set jit = off; ` +
  `set statement_timeout = ${statement}`;

/** A warning if a password crosses the network to PostgreSQL unencrypted; null if it does not. */
export function unencryptedPassword(database: Config['database']): string | null {
  const hosts = [database.url, ...database.replicaUrls].flatMap((connectionString) => {
    // The driver decides, also by its variables, such as PGSSLMODE.
    const { host, password, ssl } = new pg.Client({ connectionString });
    const isLocal = host.startsWith('/') || isLoopback(host);
    return isLocal || ssl || (password ?? '') === '' ? [] : [host];
  });
  if (hosts.length === 0) return null;
  return `The password of PostgreSQL and all data cross the network to ${[...new Set(hosts)].join(' and ')} unencrypted: add ?sslmode=verify-full to the URL`;
}

/** Options of a pool of at most `max` connections to a server. */
export function poolOptions(max: number, limits: DatabaseTimeLimits, connections: OpenConnections): object {
  const text = `${greeting(limits)}; set idle_in_transaction_session_timeout = ${limits.idle}`;
  return {
    Client: SocketClient,
    max,
    connectionTimeoutMillis: limits.connection,
    keepAlive: true,
    pipeline: true,
    onConnect: async (client: pg.ClientBase) => {
      receive(client, connections);
      // A connection that does not answer is useless.
      const options = { query_timeout: limits.connection };
      await client.query({ text, ...options });
    },
  };
}

function receive(client: pg.ClientBase, connections: OpenConnections): void {
  // A query on a lost connection rejects its own promise, and the pool notices lost idle connections. This
  // listener only prevents an uncaught 'error' event.
  client.on('error', () => undefined);
  connections.note(client);
}

/** The open connections of pools, in use or idle, so that all of them can be ended at once. */
export class OpenConnections {
  private readonly open = new Set<ClientBase>();
  /** Bytes that the server sent on connections that are now closed. */
  private receivedBefore = 0;

  note(client: ClientBase): void {
    this.open.add(client);
    client.once('end', () => {
      this.open.delete(client);
      this.receivedBefore += socketOf(client).bytesRead;
    });
  }

  /** Bytes from the server on all connections so far. The number grows while the server works. */
  get receivedBytes(): number {
    let received = this.receivedBefore;
    for (const client of this.open) received += socketOf(client).bytesRead;
    return received;
  }

  /** Ends all connections. Every query on them fails. */
  destroyAll(): void {
    for (const client of this.open) destroyConnection(client);
  }
}

/** Connections are opened on demand and closed after ten seconds without use. */
export function createPreviewPool(
  database: Config['database'],
  limits: DatabaseTimeLimits,
  connections: OpenConnections,
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: database.url,
    ...poolOptions(database.previewPoolSize, limits, connections),
  });
  // An idle connection was lost. The next preview transaction opens another one.
  pool.on('error', () => undefined);
  return pool;
}
