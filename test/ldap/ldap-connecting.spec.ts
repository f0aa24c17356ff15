import { once } from 'node:events';
import { type ConnectionOptions, LdapConnection } from '../../src/ldap/client/ldap-connection.js';
import {
  LdapClosedError,
  LdapConnectError,
  LdapProtocolError,
  LdapTimeoutError,
  LdapTlsError,
} from '../../src/ldap/client/ldap-error.js';
import { errorOf } from '../support/error-of.js';
import { entry, FakeLdapServer, octets, result, type Script } from '../support/servers/fake-ldap-server.js';

const NOTICE = octets('1.3.6.1.4.1.1466.20036', 0x8a);

let server: FakeLdapServer | null = null;

afterEach(async () => {
  await server?.stop();
  server = null;
});

async function connectTo(script: Script, options: Partial<ConnectionOptions> = {}): Promise<LdapConnection> {
  server = await FakeLdapServer.start(script);
  return LdapConnection.connect({ host: '127.0.0.1', port: server.port, tls: 'none', ...options });
}

describe('connecting', () => {
  const options = { host: '127.0.0.1', port: 1, tls: 'none' } as const;

  it('to a closed port reports address and reason', async () => {
    const error = await errorOf(LdapConnection.connect(options));
    expect(error).toBeInstanceOf(LdapConnectError);
    expect(error.message).toBe('No connection to 127.0.0.1:1: ECONNREFUSED');
  });

  it('with a DN and no password is rejected before a connection is opened', async () => {
    const error = await errorOf(LdapConnection.connect({ ...options, bindDn: 'cn=mirror' }));
    expect(error.message).toBe('There is no password for cn=mirror');
  });

  it.each([
    ['the bind', { bindDn: 'cn=a', bindPassword: 'b', stepTimeout: 50 }],
    ['StartTLS', { tls: 'starttls', stepTimeout: 50 }],
    ['TLS', { tls: 'ldaps', stepTimeout: 50 }],
  ] as const)('times out without a response %s', async (_, wanted) => {
    expect(await errorOf(connectTo(() => undefined, wanted))).toBeInstanceOf(LdapTimeoutError);
  });

  it('can be interrupted', async () => {
    const stop = new AbortController();
    const wanted = { bindDn: 'cn=a', bindPassword: 'b', signal: stop.signal };
    const connecting = connectTo(() => {
      stop.abort(new Error('enough'));
    }, wanted);
    await expect(connecting).rejects.toThrow('enough');
    await expect(LdapConnection.connect({ ...options, ...wanted })).rejects.toThrow('enough');
  });

  it.each([
    ['rejects it', LdapTlsError, result(1, 2, '', 0x78)],
    [
      'sends another message after success',
      LdapProtocolError,
      Buffer.concat([result(1, 0, '', 0x78), entry(1, 'cn=injected')]),
    ],
    [
      'sends a partial message after success',
      LdapProtocolError,
      Buffer.concat([result(1, 0, '', 0x78), Buffer.of(0x30)]),
    ],
    ['sends another message', LdapProtocolError, entry(1, 'cn=a')],
    ['sends a notice of disconnection', LdapClosedError, result(0, 52, '', 0x78, NOTICE)],
    ['speaks no LDAP', LdapProtocolError, Buffer.from('220 mail.example.org')],
    ['accepts, and speaks no TLS', LdapTlsError, null],
  ])('by StartTLS fails if the server %s', async (_, kind, answer) => {
    const error = await errorOf(
      connectTo(
        async (socket) => {
          await once(socket, 'data');
          socket.write(answer ?? result(1, 0, '', 0x78));
          if (answer !== null) return;
          await once(socket, 'data');
          socket.write('220 mail.example.org ready');
        },
        { tls: 'starttls' },
      ),
    );
    expect(error).toBeInstanceOf(kind);
  });

  it('by TLS fails if the server closes or resets the connection', async () => {
    for (const end of ['end', 'resetAndDestroy'] as const) {
      const error = await errorOf(
        connectTo(
          async (socket) => {
            await once(socket, 'data');
            socket[end]();
          },
          { tls: 'ldaps' },
        ),
      );
      expect(error).toBeInstanceOf(LdapTlsError);
      await server?.stop();
    }
  });
});
