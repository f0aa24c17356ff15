import type { Socket } from 'node:net';
import type { ClientBase } from 'pg';

/** Ends a connection without a word to the other side, which may hear nothing: whatever waits on it fails at once. */
export function breakOff(client: ClientBase): void {
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
}
