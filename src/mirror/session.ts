import { Socket } from 'node:net';
import pg from 'pg';
import { SESSION_SETTINGS } from '../database/connections/pool-options.js';
import { settlesWithin } from '../database/connections/settles-within.js';
import type { Writer } from '../database/statements/statement.js';

/** Milliseconds to connect, and to end a session. */
const CONNECT_TIMEOUT_MS = 5000;
const PARTING_MS = 500;

/** A session of its own at the database, with its temporary tables and locks. */
export class Session implements Writer {
  private constructor(
    private readonly client: pg.Client,
    private readonly socket: Socket,
  ) {}

  static async open(url: string, settings = ''): Promise<Session> {
    // Its own socket, which can be closed without a word to a server that hangs.
    const socket = new Socket();
    const client = new pg.Client({
      connectionString: url,
      stream: () => socket,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    });
    // A lost connection makes the next statement fail.
    client.on('error', () => undefined);
    const session = new Session(client, socket);
    try {
      await client.connect();
      await session.query(`${SESSION_SETTINGS}; ${settings}`);
      return session;
    } catch (error) {
      socket.destroy();
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
    this.socket.destroy();
  }

  async close(): Promise<void> {
    await settlesWithin(PARTING_MS, this.client.end());
    this.destroy();
  }
}
