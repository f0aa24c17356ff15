import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** The behavior of a server on a connection; called once per connection. */
export type Script = (socket: Socket) => void | Promise<void>;

/** An LDAP server with scripted responses. */
export class FakeLdapServer {
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(script: Script): Promise<FakeLdapServer> {
    const server = createServer();
    const fake = new FakeLdapServer(server);
    server.on('connection', (socket) => {
      fake.sockets.add(socket.on('error', () => undefined));
      void script(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** A script that answers the first request with these bytes. */
export function answerWith(...answer: Buffer[]): Script {
  return async (socket) => {
    await once(socket, 'data');
    socket.write(Buffer.concat(answer));
  };
}

/** A BER element. Text is encoded as an octet string. */
export function ber(tag: number, ...contents: (Buffer | string)[]): Buffer {
  const body = Buffer.concat(contents.map((each) => (typeof each === 'string' ? octets(each) : each)));
  const length = Buffer.alloc(5);
  length.writeUInt32BE(body.length, 1);
  length[0] = 0x84;
  return Buffer.concat([Buffer.of(tag), body.length < 0x80 ? Buffer.of(body.length) : length, body]);
}

/** Encodes bytes as an octet string. */
export function octets(value: Buffer | string, tag = 0x04): Buffer {
  return ber(tag, Buffer.from(value));
}

export function message(id: number, operation: Buffer, ...controls: Buffer[]): Buffer {
  const number = Buffer.alloc(4);
  number.writeInt32BE(id);
  return ber(0x30, ber(0x02, number), operation, ...(controls.length === 0 ? [] : [ber(0xa0, ...controls)]));
}

export function entry(id: number, dn: string, attributes: Record<string, (Buffer | string)[]> = {}): Buffer {
  const list = Object.entries(attributes).map(([name, values]) =>
    ber(0x30, name, ber(0x31, ...values.map((value) => octets(value)))),
  );
  return message(id, ber(0x64, dn, ber(0x30, ...list)));
}

/** A SearchResultDone; another tag makes it the result of another operation. */
export function result(id: number, code = 0, diagnostic = '', tag = 0x65, ...more: Buffer[]): Buffer {
  const number = code < 0x80 ? Buffer.of(code) : Buffer.of(code >> 8, code & 0xff);
  return message(id, ber(tag, ber(0x0a, number), '', diagnostic, ...more));
}
