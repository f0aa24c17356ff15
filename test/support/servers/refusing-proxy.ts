import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { BerInput, MessageFrames } from '../../../src/ldap/client/message.js';
import { result } from './fake-ldap-server.js';

/** Tags of RFC 4511 §4.5.1. */
const SEARCH = 0x63;
const CONTROLS = 0xa0;
const PAGED_RESULTS = '1.2.840.113556.1.4.319';

/** An LDAP proxy that rejects searches with pages. */
export class RefusingProxy {
  readonly port: number;
  /** Number of rejected searches. */
  refused = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly code: number | null,
  ) {
    this.port = (server.address() as AddressInfo).port;
  }

  /** @param code the result code of rejected searches; null: they are forwarded */
  static async start(targetPort: number, code: number | null): Promise<RefusingProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new RefusingProxy(server, code);
    server.on('connection', (client) => {
      proxy.join(client, connect(targetPort, '127.0.0.1'));
    });
    return proxy;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private join(client: Socket, target: Socket): void {
    const frames = new MessageFrames();
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      this.sockets.add(socket.on('error', () => undefined));
      socket.on('close', () => other.destroy());
    }
    client.on('data', (chunk) => {
      for (const message of frames.push(chunk)) {
        const refusal = this.refusalOf(message);
        if (refusal === null) target.write(message);
        else client.write(refusal);
      }
    });
    target.on('data', (chunk) => client.write(chunk));
  }

  /** The result of a rejected search; null: the search is forwarded. */
  private refusalOf(message: Buffer): Buffer | null {
    const body = new BerInput(message).enter();
    const id = body.readInteger();
    if (!body.isNext(SEARCH)) return null;
    body.skip();
    if (this.code === null || !body.isNext(CONTROLS) || !body.readOctets(CONTROLS).includes(PAGED_RESULTS))
      return null;
    this.refused++;
    return result(id, this.code);
  }
}
