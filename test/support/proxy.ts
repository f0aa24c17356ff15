import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy between a service and what it depends on, which a test can cut and mend. */
export class TestProxy {
  private readonly sockets = new Set<Socket>();
  /** Bytes that the target has sent so far. */
  received = 0;
  private isCut = false;
  private isFrozen = false;

  private constructor(
    private readonly server: Server,
    private readonly target: { host: string; port: number },
  ) {}

  static async start(target: { host: string; port: number }): Promise<TestProxy> {
    const server = createServer();
    const proxy = new TestProxy(server, target);
    server.on('connection', (socket) => {
      proxy.pass(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Breaks every connection, and takes no new one. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  /** Lets nothing through any more, and breaks nothing: as when a machine is gone without a word. */
  freeze(): void {
    this.isFrozen = true;
    for (const socket of this.sockets) socket.pause().unpipe();
  }

  /** Takes new connections again; those of before stay as they are. */
  mend(): void {
    this.isCut = false;
    this.isFrozen = false;
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private pass(socket: Socket): void {
    if (this.isCut) {
      socket.destroy();
      return;
    }
    if (this.isFrozen) {
      this.sockets.add(socket.pause());
      return;
    }
    const onward = connect(this.target);
    onward.on('data', (chunk: Buffer) => (this.received += chunk.length));
    for (const [end, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      this.sockets.add(end);
      end.on('error', () => other.destroy());
      end.on('close', () => {
        this.sockets.delete(end);
        other.destroy();
      });
      end.pipe(other);
    }
  }
}
