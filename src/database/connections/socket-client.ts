import { Socket } from 'node:net';
import pg, { type ClientBase, type ClientConfig } from 'pg';

/**
 * A client of the driver on a socket that this service creates, so that a connection can be ended without an
 * answer from the server. The driver accepts a socket by its option `stream` and has no other way to end a
 * connection that hangs.
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

/** Ends a connection at once, without a message to the server. Every query on it fails. */
export function destroyConnection(client: ClientBase): void {
  socketOf(client).destroy();
}
