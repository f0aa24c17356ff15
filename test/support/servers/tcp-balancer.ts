import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Attributes that only complete entries of users have. */
const PERSON = 'inetOrgPerson';
/** The control of each entry that content synchronization sends (RFC 4533 §2.2). */
const SYNC_STATE = '1.3.6.1.4.1.4203.1.9.1.2';

/**
 * One address in front of several servers, like a TCP load balancer: connections are distributed in turn, and servers that do not
 * accept are skipped.
 */
export class TcpBalancer {
  /** Number of connections to each server, by port. */
  readonly given = new Map<number, number>();
  /** Number of complete entries of users that the servers have sent. */
  people = 0;
  /** Number of entries that the servers have sent by content synchronization, complete or not. */
  synchronized = 0;
  private readonly sockets = new Set<Socket>();
  private turn = 0;

  private constructor(
    private readonly server: Server,
    private targets: readonly number[],
  ) {}

  /** @param targets ports on 127.0.0.1 */
  static async start(...targets: number[]): Promise<TcpBalancer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const balancer = new TcpBalancer(server, targets);
    server.on('connection', (socket) => balancer.pass(socket, balancer.targets.length));
    return balancer;
  }

  get url(): string {
    return `ldap://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** New connections go to these targets from now on. */
  use(...targets: number[]): void {
    this.targets = targets;
    this.turn = 0;
  }

  /** Closes all connections. New ones are accepted. */
  breakConnections(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.breakConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** @param left servers that have not been tried */
  private pass(client: Socket, left: number): void {
    const port = this.targets[this.turn++ % this.targets.length];
    if (left === 0 || port === undefined) {
      client.destroy();
      return;
    }
    const onward = connect({ host: '127.0.0.1', port });
    const retry = () => this.pass(client, left - 1);
    onward.once('error', retry);
    onward.once('connect', () => {
      onward.off('error', retry);
      this.given.set(port, (this.given.get(port) ?? 0) + 1);
      this.count(onward, PERSON, (found) => (this.people += found));
      this.count(onward, SYNC_STATE, (found) => (this.synchronized += found));
      this.join(client, onward);
      this.join(onward, client);
    });
  }

  private count(onward: Socket, mark: string, add: (found: number) => void): void {
    let rest = '';
    onward.on('data', (chunk: Buffer) => {
      const parts = (rest + chunk.toString('latin1')).split(mark);
      add(parts.length - 1);
      rest = (parts.at(-1) ?? '').slice(1 - mark.length);
    });
  }

  private join(from: Socket, to: Socket): void {
    this.sockets.add(from);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.sockets.delete(from);
      to.destroy();
    });
    from.pipe(to);
  }
}
