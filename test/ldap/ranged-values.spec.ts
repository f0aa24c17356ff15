import { LdapConnection } from '../../src/ldap/client/ldap-connection.js';
import { LdapProtocolError, LdapUnstableError } from '../../src/ldap/client/ldap-error.js';
import type { Entry } from '../../src/ldap/entry.js';
import { readEntries } from '../support/builders/read-entries.js';
import { errorOf } from '../support/error-of.js';
import { entry, FakeLdapServer, result } from '../support/servers/fake-ldap-server.js';
import { type RangedGroup, startRangingServer } from '../support/servers/ranging-server.js';

const LIMIT = 1500;

const names = (count: number, prefix = 'member') =>
  Array.from({ length: count }, (_, index) => `cn=${prefix} ${index}`);
const group = (dn: string, members: string[], onRange?: RangedGroup['onRange']): RangedGroup => ({
  dn,
  members,
  ...(onRange === undefined ? {} : { onRange }),
});

let server: FakeLdapServer | null = null;

afterEach(async () => {
  await server?.stop();
  server = null;
});

async function read(...groups: RangedGroup[]): Promise<Entry[]> {
  server = await startRangingServer(groups, LIMIT);
  const connection = await LdapConnection.connect({ host: '127.0.0.1', port: server.port, tls: 'none' });
  try {
    return await readEntries(connection, 'dc=a', '(objectClass=group)', ['member']);
  } finally {
    connection.close();
  }
}

/** Changes a group after the parts with these numbers, counted from 1; the first is in the response to the search. */
function changeAfter(parts: readonly number[], change: (group: RangedGroup) => void): RangedGroup['onRange'] {
  let count = 0;
  return (each) => {
    if (parts.includes(++count)) change(each);
  };
}

describe('values that a server sends in ranges', () => {
  it.each([0, 1, LIMIT, LIMIT + 1, 2 * LIMIT - 1, 2 * LIMIT, 4321])(
    'are read to the end: %d',
    async (count) => {
      const [found] = await read(group('cn=g', names(count)));
      expect(found?.text('member')).toEqual(names(count));
      expect([...(found?.attributes.keys() ?? [])].some((key) => key.includes('range'))).toBe(false);
    },
  );

  it('are read for each entry, between two pages', async () => {
    const groups = [names(10), names(4000, 'a'), names(1), names(3000, 'b')].map((members, index) =>
      group(`cn=${index}`, members),
    );
    const found = new Map((await read(...groups)).map((each) => [each.dn, each.text('member')]));
    expect(found).toEqual(new Map(groups.map(({ dn, members }) => [dn, members])));
  });

  it('are read again when the entry changes between two ranges', async () => {
    const change = (each: RangedGroup) => {
      each.members = each.members.slice(10);
    };
    const changing = group('cn=g', names(4000), changeAfter([2, 5], change));
    const [found] = await read(changing);
    expect(found?.text('member')).toEqual(names(4000).slice(20));
  });

  it('may all be removed meanwhile', async () => {
    const emptied = group(
      'cn=g',
      names(4000),
      changeAfter([1], (each) => each.members.splice(0)),
    );
    const [found] = await read(emptied);
    expect(found?.text('member')).toEqual([]);
  });

  it('of an entry that changes all the time are not read in part', async () => {
    const restless = group('cn=g', names(4000), (each) => each.members.shift());
    expect(await errorOf(read(restless))).toBeInstanceOf(LdapUnstableError);
  });

  it.each(['member;range=5-9', 'member;range=0-', 'member;range=a-b', 'member;range=0-0'])(
    'must be those that were requested: %s',
    async (description) => {
      server = await FakeLdapServer.start((socket) => {
        let id = 0;
        socket.on('data', () => {
          id++;
          socket.write(Buffer.concat([entry(id, 'cn=g', { [description]: ['cn=a'] }), result(id)]));
        });
      });
      const connection = await LdapConnection.connect({ host: '127.0.0.1', port: server.port, tls: 'none' });
      expect(await errorOf(readEntries(connection, 'dc=a', '(cn=g)'))).toBeInstanceOf(LdapProtocolError);
      connection.close();
    },
  );
});
