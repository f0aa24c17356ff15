import { Socket } from 'node:net';
import pg, { type ClientBase, type ClientConfig } from 'pg';

/**
 * A client of the driver on a socket that this service makes, so that a connection can be ended without an answer of the
 * server. The driver takes a socket by its option `stream`, and has no other way to end a connection that hangs.
 */
export class SocketClient extends pg.Client {
  readonly socket: Socket;

  constructor(config?: string | ClientConfig) {
    const socket = new Socket();
    const options = typeof config === 'string' ? { connectionString: config } : config;
    super({ ...options, stream: () => socket });
    this.socket = socket;
  }
}

/** @throws Error for a client of another class */
export function socketOf(client: ClientBase): Socket {
  if (client instanceof SocketClient) return client.socket;
  throw new Error('Every connection to the database is a SocketClient');
}

/** Ends a connection at once: every query on it fails. The server may not answer, and is not asked. */
export function destroyConnection(client: ClientBase): void {
  socketOf(client).destroy();
}
