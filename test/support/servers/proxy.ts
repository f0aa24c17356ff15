import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** What becomes of connections. */
type Mode = 'pass' | 'cut' | 'reset' | 'freeze' | 'say';

/** A TCP proxy between a service and what it depends on, which a test can break in several ways and mend. */
export class TestProxy {
  readonly port: number;
  /** Bytes that the target has sent so far. */
  received = 0;
  /** Both ends of every connection. */
  private readonly sockets = new Set<Socket>();
  /** The end of each that the service has. */
  private readonly clients = new Set<Socket>();
  /** Both ends of every connection, by the port of the proxy towards the target. */
  private readonly onward = new Map<number, readonly Socket[]>();
  private mode: Mode = 'pass';
  private nonsense: string | Buffer = '';
  /** Milliseconds that each piece waits before it is passed on. */
  private latency = 0;

  private constructor(
    private readonly server: Server,
    private readonly target: { host: string; port: number },
  ) {
    this.port = (server.address() as AddressInfo).port;
  }

  /** @param target may listen later, or be another one by then */
  static async start(target: { host: string; port: number }): Promise<TestProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new TestProxy(server, target);
    server.on('connection', (socket) => {
      proxy.take(socket);
    });
    return proxy;
  }

  /** Breaks every connection, and takes no new one. */
  cut(): void {
    this.mode = 'cut';
    for (const socket of this.sockets) socket.destroy();
  }

  /** As when nothing listens here any more: connections are broken, and new ones refused. */
  refuse(): void {
    this.cut();
    this.server.close();
  }

  /** Breaks every connection by a reset (RST), and new ones too. */
  reset(): void {
    this.mode = 'reset';
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  /** Lets nothing through any more, and breaks nothing: as when a machine is gone without a word. */
  freeze(): void {
    this.mode = 'freeze';
    this.hold();
  }

  /**
   * Lets nothing through one connection any more, and breaks nothing: as when a firewall has forgotten it.
   * @param port from which the proxy is connected to the target
   */
  forget(port: number): void {
    for (const socket of this.onward.get(port) ?? []) socket.pause().unpipe();
  }

  /** Passes each piece on only after this many milliseconds, in both directions. */
  slow(milliseconds: number): void {
    this.latency = milliseconds;
  }

  /** Says this to whoever is connected, and to new ones in the place of the target. */
  say(nonsense: string | Buffer): void {
    this.mode = 'say';
    this.nonsense = nonsense;
    this.hold();
    for (const client of this.clients) client.write(nonsense);
  }

  /** Takes new connections again; those of before stay as they are, but for their pace. */
  mend(): void {
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
      case 'say':
        this.keep(socket.resume());
        socket.write(this.nonsense);
        break;
    }
  }

  private pass(socket: Socket): void {
    const onward = connect(this.target);
    onward.on('connect', () => this.onward.set(onward.localPort ?? 0, [socket, onward]));
    onward.on('data', (chunk: Buffer) => (this.received += chunk.length));
    for (const [end, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      this.keep(end);
      end.on('error', () => other.destroy());
      end.on('close', () => other.destroy());
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
