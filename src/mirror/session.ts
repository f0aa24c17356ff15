import type pg from 'pg';
import { destroyConnection, SESSION_SETTINGS, SocketClient } from '../database/connections/socket-client.js';
import { settlesWithin } from '../database/connections/settles-within.js';
import type { Writer } from '../database/statements/statement.js';

/** Milliseconds to connect, and to end a session. */
const CONNECT_TIMEOUT_MS = 5000;
const PARTING_MS = 500;

/** A session of its own at the database, with its temporary tables and locks. */
export class Session implements Writer {
  private constructor(private readonly client: SocketClient) {}

  static async open(url: string, settings = ''): Promise<Session> {
    const client = new SocketClient({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    });
    // A lost connection makes the next statement fail.
    client.on('error', () => undefined);
    const session = new Session(client);
    try {
      await client.connect();
      await session.query(`${SESSION_SETTINGS}; ${settings}`);
      return session;
    } catch (error) {
      destroyConnection(client);
      throw error;
    }
  }

  /** @param text one statement, or several without values, of which the last one returns the rows */
  async query<Rows extends object[]>(text: string, values?: unknown[]): Promise<Rows> {
    const result: unknown = await this.client.query({ text, ...(values !== undefined && { values }) });
    const last = (Array.isArray(result) ? result.at(-1) : result) as pg.QueryResult;
    return last.rows as Rows;
  }

  /** Called when the server or the network ends the session. */
  onEnd(listener: () => void): void {
    this.client.on('end', listener);
  }

  /** Ends the session at once. The server rolls back its transaction. */
  destroy(): void {
    destroyConnection(this.client);
  }

  async close(): Promise<void> {
    await settlesWithin(PARTING_MS, this.client.end());
    this.destroy();
  }
}
