import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import {
  type ConnectionOptions,
  LdapConnection,
  type SearchMessage,
  ANY_ENTRY,
} from '../../src/ldap/client/ldap-connection.js';
import {
  LdapClosedError,
  LdapError,
  LdapProtocolError,
  LdapTimeoutError,
} from '../../src/ldap/client/ldap-error.js';
import { errorOf } from '../support/error-of.js';
import {
  answerWith,
  ber,
  entry,
  FakeLdapServer,
  message,
  octets,
  result,
  type Script,
} from '../support/servers/fake-ldap-server.js';
import { repetitions } from '../support/repetitions.js';

const REQUEST = { base: 'dc=a', scope: 'sub', filter: ANY_ENTRY, attributes: ['*'] } as const;

let server: FakeLdapServer | null = null;

afterEach(async () => {
  await server?.stop();
  server = null;
});

async function connectTo(script: Script, options: Partial<ConnectionOptions> = {}): Promise<LdapConnection> {
  server = await FakeLdapServer.start(script);
  return LdapConnection.connect({ host: '127.0.0.1', port: server.port, tls: 'none', ...options });
}

async function collect(messages: AsyncIterable<SearchMessage>): Promise<SearchMessage[]> {
  const collected: SearchMessage[] = [];
  for await (const each of messages) collected.push(each);
  return collected;
}

describe('a server that does not speak LDAP', () => {
  const attribute = (...contents: (Buffer | string)[]) =>
    message(1, ber(0x64, 'cn=a', ber(0x30, ber(0x30, ...contents))));

  it.each([
    ['sends text', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['sends an indefinite length', Buffer.of(0x30, 0x80, 0x00)],
    ['claims 4 GB', Buffer.of(0x30, 0x84, 0xff, 0xff, 0xff, 0xff)],
    ['sends a message without an operation', ber(0x30, ber(0x02, Buffer.of(1)))],
    ['sends an integer of five octets', ber(0x30, ber(0x02, Buffer.alloc(5, 1)), ber(0x65))],
    ['responds to an unknown message id', result(7)],
    ['sends a request', message(1, ber(0x63, 'dc=a'))],
    ['sends a result without a code', message(1, ber(0x65))],
    ['responds to a search with a bind response', result(1, 0, '', 0x61)],
    ['sends integers as values', attribute('cn', ber(0x31, ber(0x02, Buffer.of(1))))],
    ['sends a value that is longer than its set', attribute('cn', Buffer.of(0x31, 0x03, 0x04, 0x7f, 0x00))],
    ['sends a negative length', attribute('cn', Buffer.of(0x31, 0x06, 0x04, 0x84, 0xff, 0xff, 0xff, 0xf0))],
    [
      'sends invalid controls',
      ber(0x30, ber(0x02, Buffer.of(1)), ber(0x65, ber(0x0a, Buffer.of(0)), '', ''), 'x'),
    ],
    ['sends a message without an id', entry(0, 'cn=a')],
  ])('%s, which ends the connection', async (_, bytes) => {
    const connection = await connectTo(answerWith(bytes));
    const [first, second] = await Promise.all([
      errorOf(collect(connection.search(REQUEST))),
      errorOf(collect(connection.search(REQUEST))),
    ]);
    expect(first).toBeInstanceOf(LdapProtocolError);
    expect(second).toBe(first);
    expect(connection.isOpen).toBe(false);
    expect(await errorOf(collect(connection.search(REQUEST)))).toBe(first);
  });

  it('causes only LdapErrors, for any changed bytes', async () => {
    const good = Buffer.concat([
      entry(1, 'cn=a', { cn: ['a', 'b'], jpegPhoto: [Buffer.alloc(200, 0xff)] }),
      message(1, ber(0x79, octets('1.2.3', 0x80), octets('x', 0x81))),
      result(1),
    ]);
    const changes = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(changes, async (changed) => {
        const bytes = Buffer.from(good);
        for (const [position, value] of changed) bytes[position] = value;
        const connection = await connectTo(async (socket) => {
          await once(socket, 'data');
          socket.end(bytes);
        });
        const harmless = (error: unknown) => expect(error).toBeInstanceOf(LdapError);
        await collect(connection.search(REQUEST)).catch(harmless);
        connection.close();
        await server?.stop();
      }),
      { numRuns: repetitions({ usually: 50, long: 150 }) },
    );
  });
});

describe('a server that disconnects', () => {
  it('in the middle of a message leaves the earlier entries, and an error', async () => {
    const connection = await connectTo(async (socket) => {
      await once(socket, 'data');
      socket.end(Buffer.concat([entry(1, 'cn=a'), entry(1, 'cn=b').subarray(0, -1)]));
    });
    const messages = connection.search(REQUEST);
    expect((await messages.next()).value).toMatchObject({ kind: 'entry', entry: { dn: 'cn=a' } });
    expect(await errorOf(messages.next())).toBeInstanceOf(LdapClosedError);
  });

  it('silently is detected by a timeout', async () => {
    const half = result(1).subarray(0, -1);
    for (const script of [() => undefined, answerWith(half), answerWith(entry(1, 'cn=a'))]) {
      const connection = await connectTo(script);
      const error = await errorOf(collect(connection.search(REQUEST, { idleTimeout: 50 })));
      expect(error).toBeInstanceOf(LdapTimeoutError);
      await server?.stop();
    }
  });
});

describe('a slow client', () => {
  it('applies backpressure, and receives everything in the end', async () => {
    const count = 1000;
    const large = entry(1, 'cn=a', { jpegPhoto: [Buffer.alloc(100_000)] });
    let written = 0;
    const connection = await connectTo(async (socket) => {
      await once(socket, 'data');
      for (; written < count; written++) {
        if (!socket.write(large)) await once(socket, 'drain');
      }
      socket.write(result(1));
    });
    const messages = connection.search(REQUEST);
    await messages.next();
    let before = -1;
    while (written > before) {
      before = written;
      await sleep(200);
    }
    // The client's memory, and the buffers of the two sockets.
    expect(written).toBeLessThan(count / 2);
    expect(await collect(messages)).toHaveLength(count);
    connection.close();
  });
});
