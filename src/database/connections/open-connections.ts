import type { ClientBase } from 'pg';
import { breakOff } from './close-socket.js';

/** The connections that pools have open, in use or not, so that all of them can be given up at once. */
export class OpenConnections {
  private readonly open = new Set<ClientBase>();

  note(client: ClientBase): void {
    this.open.add(client);
    client.once('end', () => this.open.delete(client));
  }

  /** Whoever waits for an answer is told that there will be none. */
  breakOff(): void {
    for (const client of this.open) breakOff(client);
  }
}
