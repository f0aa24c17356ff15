import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** States of connections. */
type Mode = 'pass' | 'cut' | 'reset' | 'freeze' | 'respond';

/**
 * A TCP proxy between a service and one of its dependencies, which a test can break in several ways and restore. It can stand in
 * front of several servers like a balancer.
 */
export class TestProxy {
  readonly port: number;
  /** Bytes received from the target. */
  received = 0;
  /** Both sockets of each connection. */
  private readonly sockets = new Set<Socket>();
  /** The socket of each connection on the side of the service. */
  private readonly clients = new Set<Socket>();
  private mode: Mode = 'pass';
  private bytes: string | Buffer = '';
  /** Delay of each chunk in milliseconds. */
  private latency = 0;
  /** The ports of the target in turn; empty: its only port. */
  private ports: readonly number[] = [];
  private turn = 0;

  private constructor(
    private readonly server: Server,
    private readonly target: { host: string; port: number },
  ) {
    this.port = (server.address() as AddressInfo).port;
  }

  /** @param target need not listen yet, and can change later */
  static async start(target = { host: '127.0.0.1', port: 0 }): Promise<TestProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new TestProxy(server, target);
    server.on('connection', (socket) => proxy.take(socket));
    return proxy;
  }

  /** Its address as that of a directory server. */
  get url(): string {
    return `ldap://127.0.0.1:${this.port}`;
  }

  /** Closes all connections. New ones go to these ports in turn, except for those that do not accept. */
  use(...ports: readonly number[]): void {
    this.ports = ports;
    this.turn = 0;
    this.cut();
    this.restore();
  }

  /** Closes all connections, and closes new ones. */
  cut(): void {
    this.mode = 'cut';
    for (const socket of this.sockets) socket.destroy();
  }

  /** Closes all connections and stops listening, so that new ones are refused. */
  refuse(): void {
    this.cut();
    this.server.close();
  }

  /** Resets all connections (RST), and new ones. */
  reset(): void {
    this.mode = 'reset';
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  /** Forwards nothing and keeps connections open, like a failed machine or network. */
  freeze(): void {
    this.mode = 'freeze';
    this.hold();
  }

  /** Delays each chunk by this many milliseconds, in both directions. */
  slow(milliseconds: number): void {
    this.latency = milliseconds;
  }

  /** Sends these bytes on existing connections, and on new ones instead of connecting to the target. */
  respondWith(bytes: string | Buffer): void {
    this.mode = 'respond';
    this.bytes = bytes;
    this.hold();
    for (const client of this.clients) client.write(bytes);
  }

  /** Accepts new connections again. Existing ones stay as they are, except for their delay. */
  restore(): void {
    this.mode = 'pass';
    this.latency = 0;
    if (!this.server.listening) this.server.listen(this.port, '127.0.0.1');
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private take(socket: Socket): void {
    this.clients.add(socket);
    socket.on('error', () => undefined).on('close', () => this.clients.delete(socket));
    switch (this.mode) {
      case 'pass':
        this.pass(socket);
        break;
      case 'cut':
        socket.destroy();
        break;
      case 'reset':
        socket.resetAndDestroy();
        break;
      case 'freeze':
        this.keep(socket.pause());
        break;
      case 'respond':
        this.keep(socket.resume());
        socket.write(this.bytes);
        break;
    }
  }

  /** @param left ports that are tried if one does not accept */
  private pass(socket: Socket, left = this.ports.length - 1): void {
    this.keep(socket);
    const port = this.ports[this.turn++ % this.ports.length] ?? this.target.port;
    const onward = connect({ ...this.target, port });
    const retry = () => (left > 0 ? this.pass(socket, left - 1) : socket.destroy());
    onward.once('error', retry).once('connect', () => {
      onward.off('error', retry);
      this.keep(onward);
      if (this.mode === 'pass' && !socket.destroyed) this.join(socket, onward);
      else onward.destroy();
    });
  }

  private join(socket: Socket, onward: Socket): void {
    onward.on('data', (chunk: Buffer) => (this.received += chunk.length));
    for (const [end, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      end.on('error', () => other.destroy());
      // What was received before is still on its way.
      end.on('close', () => setTimeout(() => other.destroy(), 20 * this.latency));
      end.pipe(this.pace()).pipe(other);
    }
  }

  private hold(): void {
    for (const socket of this.sockets) socket.pause().unpipe();
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
  }

  private pace(): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        if (this.latency === 0) done(null, chunk);
        else setTimeout(done, this.latency, null, chunk);
      },
    });
  }
}
