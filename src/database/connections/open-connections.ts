import type { ClientBase } from 'pg';
import { destroyConnection, socketOf } from './socket-client.js';

/** The connections that pools have open, in use or not, so that all of them can be ended at once. */
export class OpenConnections {
  private readonly open = new Set<ClientBase>();
  /** Bytes that the server sent on connections that are closed. */
  private receivedBefore = 0;

  note(client: ClientBase): void {
    this.open.add(client);
    client.once('end', () => {
      this.open.delete(client);
      this.receivedBefore += socketOf(client).bytesRead;
    });
  }

  /** Bytes that the server has sent on all connections so far: they grow while it works, however slowly. */
  get receivedBytes(): number {
    let received = this.receivedBefore;
    for (const client of this.open) received += socketOf(client).bytesRead;
    return received;
  }

  /** Every query on them fails. */
  destroyAll(): void {
    for (const client of this.open) destroyConnection(client);
  }
}
