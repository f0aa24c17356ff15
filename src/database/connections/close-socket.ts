import type { Socket } from 'node:net';
import type { ClientBase } from 'pg';

/** What a connection is sent through: the driver keeps it to itself. */
export function socketOf(client: ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

/** Ends a connection without a word to the other side, which may hear nothing: whatever waits on it fails at once. */
export function breakOff(client: ClientBase): void {
  socketOf(client).destroy();
}
