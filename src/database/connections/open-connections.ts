import type { ClientBase } from 'pg';
import { destroyConnection } from './socket-client.js';

/** The connections that pools have open, in use or not, so that all of them can be ended at once. */
export class OpenConnections {
  private readonly open = new Set<ClientBase>();

  note(client: ClientBase): void {
    this.open.add(client);
    client.once('end', () => this.open.delete(client));
  }

  /** Every query on them fails. */
  destroyAll(): void {
    for (const client of this.open) destroyConnection(client);
  }
}
