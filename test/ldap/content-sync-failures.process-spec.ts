import { LdapConnection } from '../../src/ldap/client/ldap-connection.js';
import { followContent } from '../../src/ldap/sync/content-sync.js';
import { ContentSyncRefusedError, RefreshRequiredError } from '../../src/ldap/sync/content-sync-error.js';
import {
  LdapClosedError,
  LdapProtocolError,
  LdapResultError,
  LdapTimeoutError,
} from '../../src/ldap/client/ldap-error.js';
import { LimitExceededError } from '../../src/ldap/client/limit-error.js';
import { BASE_DN, buildLdif, personDn } from '../support/builders/directory.js';
import { errorOf } from '../support/error-of.js';
import { ber, entry, FakeLdapServer, message, octets, result } from '../support/servers/fake-ldap-server.js';
import { TestProxy } from '../support/servers/proxy.js';
import { connectTo, joinRecords, LdapReplica, REQUEST, setSnLines } from '../support/servers/replica.js';
import { MIRROR_DN, startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';

let slapd: TestSlapd;

beforeAll(async () => {
  slapd = await startSlapd({
    ldif: buildLdif(
      ['ann', 'eve', 'fay', 'kid'].map((id) => ({ id })),
      [{ id: 'club', members: ['ann'] }],
    ),
  });
});

afterAll(() => slapd.remove());

async function modify(...records: string[][]): Promise<void> {
  const { stderr } = await slapd.modify(joinRecords(...records));
  expect(stderr).toBe('');
}

describe('the end of a server', () => {
  async function followUntilLost(lose: () => Promise<void>, port = slapd.port) {
    const connection = await connectTo(port);
    const events = followContent(connection, { ...REQUEST, persist: true });
    while ((await events.next()).value?.kind !== 'refreshed');
    const lost = errorOf(events.next());
    await lose();
    await lost;
    connection.close();
    return lost;
  }

  it('is noticed when it is stopped', async () => {
    const lost = await followUntilLost(() => slapd.stop());
    await slapd.start();
    expect(lost).toBeInstanceOf(Error);
    expect(String(lost)).toMatch(/Ldap(Closed|Result)Error/);
  });

  it('is noticed when it is killed, and so is a loss of its latest changes', async () => {
    const replica = new LdapReplica(() => slapd);
    const connection = await connectTo(slapd.port);
    const events = followContent(connection, { ...REQUEST, persist: true });
    const take = async () => {
      const { value } = await events.next();
      if (value === undefined) throw new Error('The events ended');
      replica.take(value);
      return value.kind;
    };
    while ((await take()) !== 'refreshed');
    await modify(setSnLines('ann', 'Killed'));
    while ((await take()) !== 'entry');
    const lost = errorOf(take());
    await slapd.stop('SIGKILL');
    expect(await lost).toBeInstanceOf(LdapClosedError);
    // OpenLDAP does not write its contextCSN immediately.
    await slapd.start();
    const error = await errorOf(replica.refresh());
    expect(error).toBeInstanceOf(ContentSyncRefusedError);
    expect(error.message).toContain('newer than its contextCSN');
    await modify(setSnLines('eve', 'Newer'));
    await replica.refresh();
    expect([...replica.entries.values()].find(({ dn }) => dn === personDn('ann'))?.sn).toBe('Killed');
    expect(replica.names).toEqual(['ann', 'club', 'eve', 'fay', 'kid']);
  });

  it('is noticed when the network fails', async () => {
    const proxy = await TestProxy.start({ host: '127.0.0.1', port: slapd.port });
    const lost = await followUntilLost(() => {
      proxy.cut();
      return Promise.resolve();
    }, proxy.port);
    await proxy.stop();
    expect(lost).toBeInstanceOf(LdapClosedError);
  });

  it('during a refresh is noticed even without a message', async () => {
    const proxy = await TestProxy.start({ host: '127.0.0.1', port: slapd.port });
    const connection = await connectTo(proxy.port);
    proxy.freeze();
    const events = followContent(connection, { ...REQUEST, persist: true, idleTimeout: 100 });
    expect(await errorOf(events.next())).toBeInstanceOf(LdapTimeoutError);
    connection.close();
    await proxy.stop();
  });
});

describe('a server that does not allow', () => {
  afterEach(() =>
    slapd.restart({ syncprov: true, acl: undefined, limits: `dn.exact="${MIRROR_DN}" size=unlimited` }),
  );

  it('content synchronization is distinguished', async () => {
    await slapd.restart({ syncprov: false });
    for (const persist of [false, true]) {
      const error = await errorOf(new LdapReplica(() => slapd).refresh({ persist }));
      expect(error).toBeInstanceOf(ContentSyncRefusedError);
      expect(error.message).toBe('The directory server does not support content synchronization');
    }
  });

  it('access to anything except users still sends users', async () => {
    await slapd.restart({
      acl: [
        'access to attrs=userPassword by anonymous auth by * none',
        `access to dn.subtree="ou=people,${BASE_DN}" by dn.exact="${MIRROR_DN}" read by * none`,
        'access to * by * none',
      ],
    });
    const replica = new LdapReplica(() => slapd);
    await replica.refresh({ base: `ou=people,${BASE_DN}` });
    expect(replica.names).toEqual(['ann', 'eve', 'fay', 'kid']);
    expect(await errorOf(new LdapReplica(() => slapd).refresh())).toMatchObject({ code: 32 });
  });

  it('complete reading is reported with a remedy', async () => {
    await slapd.restart({ limits: `dn.exact="${MIRROR_DN}" size=3` });
    for (const persist of [false, true]) {
      const error = await errorOf(new LdapReplica(() => slapd).refresh({ persist }));
      expect(error).toBeInstanceOf(LimitExceededError);
      expect(error).toMatchObject({ code: 4 });
      expect(error.message).toContain(`limits dn.exact="${MIRROR_DN}" size=unlimited`);
    }
  });
});

describe('a server that ends the synchronization', () => {
  /** An empty `refreshDelete`: the end of the refresh. */
  const refreshed = message(2, ber(0x79, octets('1.3.6.1.4.1.4203.1.9.1.4', 0x80), octets(ber(0xa1), 0x81)));

  it.each([
    ['with refresh required', [refreshed, result(2, 4096)], RefreshRequiredError],
    ['with another error', [refreshed, result(2, 53)], LdapResultError],
    ['with success', [refreshed, result(2)], LdapClosedError],
    ['before the refresh', [result(2, 53)], ContentSyncRefusedError],
    ['with an invalid message', [entry(2, 'cn=a')], LdapProtocolError],
  ])('%s is distinguished', async (_, answer, kind) => {
    const fake = await FakeLdapServer.start((socket) => {
      // The first request reads the root DSE, which is empty.
      socket.once('data', () => {
        socket.write(result(1));
        socket.once('data', () => socket.write(Buffer.concat(answer)));
      });
    });
    const connection = await LdapConnection.connect({ host: '127.0.0.1', port: fake.port, tls: 'none' });
    const follow = async () => {
      for await (const event of followContent(connection, { ...REQUEST, persist: true })) {
        expect(event).toEqual({ kind: 'refreshed', unmentionedAreGone: true, cookie: null });
      }
    };
    const error = await errorOf(follow());
    expect(error.constructor).toBe(kind);
    expect(connection.isOpen).toBe(kind !== LdapProtocolError);
    connection.close();
    await fake.stop();
  });
});
