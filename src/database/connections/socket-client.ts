import { Socket } from 'node:net';
import pg, { type ClientBase, type ClientConfig } from 'pg';

/** A client of the driver on a socket of this service, so that a hanging connection can be ended. */
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

/** Sent first on every connection, because roles and databases may have other defaults. */
export const SESSION_SETTINGS = `
  set datestyle = 'ISO, YMD'; set bytea_output = 'hex'; set extra_float_digits = 1; set standard_conforming_strings = on;
  set default_transaction_isolation = 'read committed'; set default_transaction_deferrable = off;
  set idle_session_timeout = 0; set lock_timeout = 0`;
