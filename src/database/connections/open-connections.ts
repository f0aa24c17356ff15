import type { ClientBase } from 'pg';
import { destroyConnection, socketOf } from './socket-client.js';

/** The open connections of pools, in use or idle, so that all of them can be ended at once. */
export class OpenConnections {
  private readonly open = new Set<ClientBase>();
  /** Bytes that the server sent on connections that are now closed. */
  private receivedBefore = 0;

  note(client: ClientBase): void {
    this.open.add(client);
    client.once('end', () => {
      this.open.delete(client);
      this.receivedBefore += socketOf(client).bytesRead;
    });
  }

  /**
   * Bytes that the server has sent on all connections so far. The number grows while the server works,
   * however slowly.
   */
  get receivedBytes(): number {
    let received = this.receivedBefore;
    for (const client of this.open) received += socketOf(client).bytesRead;
    return received;
  }

  /** Ends all connections. Every query on them fails. */
  destroyAll(): void {
    for (const client of this.open) destroyConnection(client);
  }
}
