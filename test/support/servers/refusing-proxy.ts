import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { BerInput, MessageFrames } from '../../../src/ldap/client/message.js';
import { result } from './fake-ldap-server.js';

/** Tags of RFC 4511 §4.5.1. */
const SEARCH = 0x63;
const AND = 0xa0;
const OR = 0xa1;
const NOT = 0xa2;
const GREATER_OR_EQUAL = 0xa5;
const CONTROLS = 0xa0;
const PAGED_RESULTS = '1.2.840.113556.1.4.319';

/** Result codes of rejected searches; null: the search is forwarded. */
export interface Refusals {
  readonly comparison: number | null;
  readonly pages: number | null;
}

/** An LDAP proxy that rejects searches of a kind. */
export class RefusingProxy {
  readonly port: number;
  /** Number of rejected searches. */
  readonly refused = { comparison: 0, pages: 0 };
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly refusals: Refusals,
  ) {
    this.port = (server.address() as AddressInfo).port;
  }

  static async start(targetPort: number, refusals: Refusals): Promise<RefusingProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new RefusingProxy(server, refusals);
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
    const search = body.enter(SEARCH);
    for (let field = 0; field < 6; field++) search.skip();
    const { comparison, pages } = this.refusals;
    if (comparison !== null && compares(search)) {
      this.refused.comparison++;
      return result(id, comparison);
    }
    if (pages === null || !body.isNext(CONTROLS) || !body.readOctets(CONTROLS).includes(PAGED_RESULTS))
      return null;
    this.refused.pages++;
    return result(id, pages);
  }
}

/** Whether the filter at this position contains a `>=` item. */
function compares(filter: BerInput): boolean {
  const tag = filter.nextTag();
  if (tag === GREATER_OR_EQUAL) return true;
  if (![AND, OR, NOT].includes(tag)) {
    filter.skip();
    return false;
  }
  const parts = filter.enter(tag);
  while (!parts.isAtEnd) if (compares(parts)) return true;
  return false;
}
