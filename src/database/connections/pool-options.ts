import type pg from 'pg';
import type { OpenConnections } from './open-connections.js';
import { SESSION_SETTINGS } from './session-settings.js';
import { SocketClient } from './socket-client.js';

/** Milliseconds that one statement may take before it is cancelled; the mirror lifts it for its own writes. */
export const STATEMENT_TIMEOUT = 5000;
/**
 * Milliseconds after which the server ends a transaction that is left idle: its process hangs and holds locks that others
 * wait for. Between two statements of a large revision a busy process computes for a second or two.
 */
const IDLE_TIMEOUT = 20_000;
/** Milliseconds that a request waits for a connection before it is told to come back. */
const CONNECTION_TIMEOUT = 2000;
/** The embedded database has one connection, and a revision being applied holds it for as long as it takes. */
const EMBEDDED_CONNECTION_TIMEOUT = 30_000;

/** What is worth saying once on every connection. */
const GREETING =
  // Small pages are not worth planning anew each time (docs/adr/0004), and nothing here is worth compiling: what is
  // guessed to be large mostly is not, and compiling it takes longer than running it.
  `${SESSION_SETTINGS}; set plan_cache_mode = force_generic_plan; set enable_memoize = off; set jit = off; ` +
  `set statement_timeout = ${STATEMENT_TIMEOUT}`;

/** A new connection that says nothing is of no use, and nobody waits for it but those who need one. */
const PROMPTLY = { query_timeout: CONNECTION_TIMEOUT };

/**
 * How a pool treats its connections to a server.
 * @param max connections at once
 */
export function serverPoolOptions(max: number, connections: OpenConnections): object {
  const text = `${GREETING}; set idle_in_transaction_session_timeout = ${IDLE_TIMEOUT}`;
  return {
    Client: SocketClient,
    max,
    connectionTimeoutMillis: CONNECTION_TIMEOUT,
    keepAlive: true,
    pipeline: true,
    onConnect: async (client: pg.ClientBase) => {
      receive(client, connections);
      await client.query({ text, ...PROMPTLY });
    },
  };
}

/** One connection, for as long as the process lives. PGlite would end as a whole, and not only a session that is idle. */
export function embeddedPoolOptions(connections: OpenConnections): object {
  return {
    Client: SocketClient,
    max: 1,
    connectionTimeoutMillis: EMBEDDED_CONNECTION_TIMEOUT,
    idleTimeoutMillis: 0,
    keepAlive: true,
    onConnect: async (client: pg.ClientBase) => {
      receive(client, connections);
      // PGlite has one session for as long as it runs: a new connection meets the prepared statements of the one
      // before, of which the driver knows nothing.
      await client.query('discard all');
      await client.query(GREETING);
    },
  };
}

function receive(client: pg.ClientBase, connections: OpenConnections): void {
  // Whoever waits for an answer is told, and the pool hears of a connection that is lost while nobody does.
  client.on('error', () => undefined);
  connections.note(client);
}
