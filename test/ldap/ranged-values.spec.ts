import { LdapConnection } from '../../src/ldap/client/ldap-connection.js';
import { LdapProtocolError, LdapUnstableError } from '../../src/ldap/client/ldap-error.js';
import type { Entry } from '../../src/ldap/entry.js';
import { errorOf } from '../support/error-of.js';
import {
  entry,
  FakeLdapServer,
  result,
  ber,
  message as messageOf,
  octets,
} from '../support/servers/fake-ldap-server.js';
import type { Socket } from 'node:net';
import { BerInput, MessageFrames } from '../../src/ldap/client/message.js';
import { readPaged } from '../../src/ldap/client/paged-search.js';
import { parseFilter } from '../../src/ldap/filter/filter.js';

/** Reads the entries below a DN that a filter (RFC 4515) selects, in pages of ten. */
async function readEntries(
  connection: LdapConnection,
  base: string,
  filter: string,
  attributes: readonly string[] = ['*'],
): Promise<Entry[]> {
  const request = { base, scope: 'sub', filter: parseFilter(filter), attributes } as const;
  const found: Entry[] = [];
  for await (const entry of readPaged(connection, request, { pageSize: 10 })) found.push(entry);
  return found;
}

const SEARCH_REQUEST = 0x63;
const CONTROLS = 0xa0;
const UNAVAILABLE_CRITICAL_EXTENSION = 12;
const PAGED_RESULTS = '1.2.840.113556.1.4.319';
const BOOLEAN = 0x01;
const ENUMERATED = 0x0a;
const OPERATIONS_ERROR = 1;

/** A group of an emulated server. `onRange` is called after each part of the members was read. */
interface RangedGroup {
  readonly dn: string;
  members: string[];
  onRange?: (group: RangedGroup) => void;
}

/**
 * Emulates how Active Directory sends the values of an attribute with more values than a limit: range retrieval as
 * [MS-ADTS] 3.1.1.3.1.3.3 documents it, and pages of one group. Samba sends all values unless a range is requested.
 * @param limit MaxValRange
 */
function startRangingServer(groups: readonly RangedGroup[], limit: number): Promise<FakeLdapServer> {
  return FakeLdapServer.start((socket) => {
    const frames = new MessageFrames();
    socket.on('data', (chunk: Buffer) => {
      for (const frame of frames.push(chunk)) answer(socket, frame, groups, limit);
    });
  });
}

function answer(socket: Socket, frame: Buffer, groups: readonly RangedGroup[], limit: number): void {
  const message = new BerInput(frame).enter();
  const id = message.readInteger();
  if (!message.isNext(SEARCH_REQUEST)) return;
  const search = message.enter(SEARCH_REQUEST);
  const base = search.readText();
  const isBase = search.readInteger(ENUMERATED) === 0;
  // Aliases, limits, whether only types are requested, and the filter.
  for (let skipped = 0; skipped < 5; skipped++) search.skip();
  const list = search.enter();
  const attributes: string[] = [];
  while (!list.isAtEnd) attributes.push(list.readText());
  const cookie = message.isNext(CONTROLS) ? cookieIn(message.enter(CONTROLS)) : null;
  // A cookie belongs to the search that received it (RFC 2696 §3).
  if (isBase && cookie !== null && cookie !== '') {
    socket.write(result(id, UNAVAILABLE_CRITICAL_EXTENSION));
    return;
  }
  const place = Number(cookie);
  try {
    const all = groups.filter(({ dn }) => !isBase || dn === base);
    const found = cookie === null ? all : all.slice(place, place + 1);
    for (const group of found) {
      socket.write(entry(id, group.dn, membersOf(group, attributes, limit)));
      group.onRange?.(group);
    }
    const next = place + 1 < all.length ? String(place + 1) : '';
    socket.write(cookie === null ? result(id) : pageEnd(id, next));
  } catch {
    socket.write(result(id, OPERATIONS_ERROR, '00002120: SvcErr: ERROR_DS_CANT_RETRIEVE_ATTS'));
  }
}

/** The cookie of a page; empty in the request of the first one; null without the control. */
function cookieIn(controls: BerInput): string | null {
  while (!controls.isAtEnd) {
    const control = controls.enter();
    const oid = control.readText();
    if (control.isNext(BOOLEAN)) control.skip();
    if (oid !== PAGED_RESULTS) continue;
    const value = new BerInput(control.readOctets()).enter();
    value.readInteger();
    return value.readText();
  }
  return null;
}

/** The end of a page, with the cookie of the next one. */
function pageEnd(id: number, cookie: string): Buffer {
  const value = ber(0x30, ber(0x02, Buffer.of(0)), octets(cookie));
  const done = ber(0x65, ber(ENUMERATED, Buffer.of(0)), '', '');
  return messageOf(id, done, ber(0x30, PAGED_RESULTS, octets(value)));
}

/** @throws when the range begins after the last value */
function membersOf(
  { members }: RangedGroup,
  attributes: readonly string[],
  limit: number,
): Record<string, string[]> {
  const requested = attributes
    .map((each) => /^member;range=(\d+)-(\d+|\*)$/.exec(each))
    .find((each) => each !== null);
  if (requested === undefined && members.length <= limit)
    return members.length === 0 ? {} : { member: members };
  const first = Number(requested?.[1] ?? 0);
  const wanted = requested?.[2] ?? '*';
  if (first > 0 && first >= members.length) throw new RangeError('beyond the last value');
  if (members.length === 0) return {};
  const last = Math.min(first + limit - 1, wanted === '*' ? Infinity : Number(wanted));
  const range = last >= members.length - 1 ? `${first}-*` : `${first}-${last}`;
  // The attribute without a range comes too, without values.
  return { member: [], [`member;range=${range}`]: members.slice(first, last + 1) };
}

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
