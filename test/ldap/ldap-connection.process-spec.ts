import { X509Certificate } from 'node:crypto';
import { connect as connectTcp, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import {
  type ConnectionOptions,
  LdapConnection,
  type SearchMessage,
  ANY_ENTRY,
  type SearchRequest,
} from '../../src/ldap/client/ldap-connection.js';
import type { Entry } from '../../src/ldap/entry.js';
import { parseFilter } from '../../src/ldap/filter/filter.js';
import { LdapResultError, LdapTlsError } from '../../src/ldap/client/ldap-error.js';
import { readPaged } from '../../src/ldap/client/paged-search.js';
import { LimitExceededError, readRootDse } from '../../src/ldap/client/server-kind.js';
import { buildLdif, personDn, type TestPerson } from '../support/builders/directory.js';
import { errorOf } from '../support/error-of.js';
import {
  MIRROR_DN,
  MIRROR_PASSWORD,
  ROOT_DN,
  ROOT_PASSWORD,
  startSlapd,
  SUFFIX,
  type TestSlapd,
} from '../support/servers/slapd.mjs';

/** An account with read access, and with limits of the server. */
const GUEST_DN = personDn('guest');
const GUEST_PASSWORD = 'guest-secret';
const CROWD = 1200;
/** Larger than any picture of a user, with every byte value. */
const PICTURE = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 31) & 0xff));

let slapd: TestSlapd;
let connection: LdapConnection;

beforeAll(async () => {
  const people: TestPerson[] = [
    ...Array.from({ length: CROWD }, (_, index) => ({ id: `crowd-${index}` })),
    { id: 'guest' },
    { id: 'large', photo: PICTURE },
  ];
  const members = Array.from({ length: 10_000 }, (_, index) => `crowd-${index}`);
  slapd = await startSlapd({
    tls: true,
    ldif: buildLdif(people, [{ id: 'everybody', members }]),
    acl: ['access to attrs=userPassword by anonymous auth by * none', 'access to * by * read'],
  });
  connection = await connect();
  await slapd.modify(
    `dn: ${GUEST_DN}\nchangetype: modify\nreplace: userPassword\nuserPassword: ${GUEST_PASSWORD}\n`,
  );
});

afterAll(async () => {
  connection.close();
  await slapd.remove();
});

function connect(options: Partial<ConnectionOptions> = {}): Promise<LdapConnection> {
  return LdapConnection.connect({
    host: '127.0.0.1',
    port: options.tls === 'ldaps' ? slapd.tlsPort : slapd.port,
    tls: 'none',
    bindDn: MIRROR_DN,
    bindPassword: MIRROR_PASSWORD,
    ca: slapd.ca,
    ...options,
  });
}

function search(filter: string, attributes: string[] = ['1.1'], base = SUFFIX): SearchRequest {
  return { base, scope: 'sub', filter: parseFilter(filter), attributes };
}

async function readOne(dn: string, attributes = ['*', '+']): Promise<Entry> {
  for await (const message of connection.search({ base: dn, scope: 'base', filter: ANY_ENTRY, attributes })) {
    if (message.kind === 'entry') return message.entry;
  }
  throw new Error(`There is no ${dn}`);
}

async function collect<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const collected: Value[] = [];
  for await (const value of values) collected.push(value);
  return collected;
}

describe('connecting', () => {
  it.each([
    ['none', '127.0.0.1'],
    ['starttls', '127.0.0.1'],
    ['starttls', 'localhost'],
    ['ldaps', '127.0.0.1'],
    ['ldaps', 'localhost'],
  ] as const)('works with %s to %s', async (tls, host) => {
    const connected = await connect({ tls, host });
    expect(await collect(connected.search(search('(uid=guest)')))).toHaveLength(2);
    connected.close();
  });

  it.each(['starttls', 'ldaps'] as const)('by %s trusts the configured authority only', async (tls) => {
    const error = await errorOf(connect({ tls, ca: undefined }));
    expect(error).toBeInstanceOf(LdapTlsError);
    expect(error.message).toContain('not signed by an authority that is trusted here');
  });

  it('by ldaps with another name than that of the certificate is rejected', async () => {
    const proxy = createServer((socket) => {
      socket.pipe(connectTcp(slapd.tlsPort, '127.0.0.1')).pipe(socket);
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.2', resolve));
    const { port } = proxy.address() as AddressInfo;
    const error = await errorOf(connect({ tls: 'ldaps', host: '127.0.0.2', port }));
    await new Promise((resolve) => proxy.close(resolve));
    expect(error).toBeInstanceOf(LdapTlsError);
    expect(error.message).toBe('No TLS with 127.0.0.2: its certificate is not for 127.0.0.2');
  });

  it('by TLS to a port without TLS reports it', async () => {
    const error = await errorOf(connect({ tls: 'ldaps', port: slapd.port }));
    expect(error).toBeInstanceOf(LdapTlsError);
  });

  it('with a wrong password reports the DN, and never the password', async () => {
    const error = await errorOf(connect({ bindPassword: 'guessed-password' }));
    expect(error).toBeInstanceOf(LdapResultError);
    expect(error).toMatchObject({ code: 49, codeName: 'invalidCredentials' });
    expect(error.message).toContain(MIRROR_DN);
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain('guessed-password');
  });

  it('without a DN is anonymous', async () => {
    const anonymous = await connect({ bindDn: undefined, bindPassword: undefined });
    expect(anonymous.bindDn).toBeNull();
    expect((await readRootDse(anonymous)).namingContexts).toEqual([SUFFIX]);
    anonymous.close();
  });
});

describe('values', () => {
  it('of 3 MB arrive unchanged', async () => {
    expect((await readOne(personDn('large'))).bytes('jpegPhoto')[0]?.equals(PICTURE)).toBe(true);
  });

  it('arrive completely if there are 10,000', async () => {
    const group = await readOne(`cn=everybody,ou=groups,${SUFFIX}`);
    expect(group.text('member')).toHaveLength(10_000);
    expect(new Set(group.text('member')).size).toBe(10_000);
  });

  it('arrive with their options, and with bytes that are not text', async () => {
    const certificate = new X509Certificate(readFileSync(join(slapd.directory, 'server.pem'))).raw;
    const bytes = Buffer.from([0x41, 0xff, 0x00, 0xc3, 0x28]);
    const { stderr } = await slapd.modify(
      [
        `dn: ${personDn('crowd-1')}`,
        'changetype: modify',
        'add: cn;lang-fr',
        'cn;lang-fr:: w4lsb2RpZQ==',
        '-',
        'add: profilePicture',
        `profilePicture:: ${bytes.toString('base64')}`,
        '-',
        'add: userCertificate;binary',
        `userCertificate;binary:: ${certificate.toString('base64')}`,
        '',
      ].join('\n'),
    );
    expect(stderr).toBe('');
    const entry = await readOne(personDn('crowd-1'));
    expect(entry.text('cn')).toEqual(['crowd-1']);
    expect(entry.text('cn;lang-fr')).toEqual(['Élodie']);
    expect(entry.bytes('profilePicture')).toEqual([bytes]);
    expect(entry.bytes('userCertificate')[0]?.equals(certificate)).toBe(true);
    expect(entry.text('entryUUID')[0]).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('searches', () => {
  it('run concurrently on one connection', async () => {
    const ids = Array.from({ length: 50 }, (_, index) => `crowd-${index}`);
    const found = await Promise.all(ids.map((id) => collect(connection.search(search(`(uid=${id})`)))));
    expect(found.map(([first]) => (first?.kind === 'entry' ? first.entry.dn : null))).toEqual(
      ids.map(personDn),
    );
  });

  it('take turns if they are read in turn', async () => {
    const searches = [search('(uid=crowd-1*)'), search('(uid=crowd-2*)')].map((each) =>
      connection.search(each),
    );
    const counts = [0, 0];
    for (let isOpen = true; isOpen;) {
      const messages: IteratorResult<SearchMessage, void>[] = [];
      for (const each of searches) messages.push(await each.next());
      messages.forEach(({ value }, index) => {
        if (value?.kind === 'entry') counts[index] = (counts[index] ?? 0) + 1;
      });
      isOpen = messages.some(({ done }) => done !== true);
    }
    // crowd-1, crowd-10 to 19, 100 to 199 and 1000 to 1199; without the thousands for 2.
    expect(counts).toEqual([311, 111]);
  });

  it('that are abandoned leave the connection usable', async () => {
    for (let time = 0; time < 20; time++) {
      for await (const message of connection.search(search('(objectClass=*)', ['*']))) {
        expect(message.kind).toBe('entry');
        break;
      }
    }
    expect(await collect(connection.search(search('(uid=guest)')))).toHaveLength(2);
  });

  it('that fail report the error, and leave the connection usable', async () => {
    const error = await errorOf(collect(connection.search(search('(cn=a)', [], `ou=nowhere,${SUFFIX}`))));
    expect(error).toMatchObject({ code: 32, codeName: 'noSuchObject' });
    expect(error.message).toBe('The directory server answered noSuchObject (32)');
    expect(connection.isOpen).toBe(true);
  });

  it('end when the connection is closed', async () => {
    const closing = await connect();
    const error = errorOf(closing.search(search('(objectClass=*)')).next());
    closing.close();
    expect((await error).message).toBe('The connection to the directory server was closed');
  });
});

describe('reading in pages', () => {
  it('returns every entry once', async () => {
    const entries = await collect(readPaged(connection, search('(uid=crowd-*)', ['uid'])));
    expect(new Set(entries.map((entry) => entry.text('uid')[0])).size).toBe(CROWD);
    expect(entries).toHaveLength(CROWD);
  });

  it.each([1, 7, CROWD, CROWD + 1])('returns the same in pages of %i', async (pageSize) => {
    const entries = await collect(readPaged(connection, search('(uid=crowd-1*)'), { pageSize }));
    expect(entries).toHaveLength(311);
  });

  it('beyond the limit of the account reports a remedy', async () => {
    const guest = await connect({ bindDn: GUEST_DN, bindPassword: GUEST_PASSWORD });
    const error = await errorOf(collect(readPaged(guest, search('(uid=crowd-*)'))));
    expect(error).toBeInstanceOf(LimitExceededError);
    expect(error).toMatchObject({ code: 4 });
    expect(error.message).toContain(`limits dn.exact="${GUEST_DN}" size=unlimited time=unlimited`);
    expect(error.message).toContain(`olcLimits: dn.exact="${GUEST_DN}" size=unlimited time=unlimited`);
    guest.close();
  });

  it('beyond a limit of the indexes reports a remedy, too', async () => {
    await slapd.restart({ limits: `dn.exact="${MIRROR_DN}" size.unchecked=10` });
    const limited = await connect();
    const error = await errorOf(collect(readPaged(limited, search('(description=*)'))));
    expect(error).toBeInstanceOf(LimitExceededError);
    expect(error.message).toContain(`dn.exact="${MIRROR_DN}" size=unlimited size.unchecked=unlimited`);
    limited.close();
  });
});

describe("a server's root DSE", () => {
  it('contains its naming contexts and features', async () => {
    const root = await connect({ bindDn: ROOT_DN, bindPassword: ROOT_PASSWORD });
    const { namingContexts, supportedControls, vendorName, kind } = await readRootDse(root);
    expect(namingContexts).toEqual([SUFFIX]);
    expect(supportedControls).toContain('1.3.6.1.4.1.4203.1.9.1.1');
    expect(vendorName).toBe('OpenLDAP');
    expect(kind).toBe('openldap');
    root.close();
  });
});
