import type { Socket } from 'node:net';
import { BerInput } from '../../../src/ldap/client/ber.js';
import { MessageFrames } from '../../../src/ldap/client/message-frames.js';
import { entry, FakeLdapServer, result } from './fake-ldap-server.js';

const SEARCH_REQUEST = 0x63;
const ENUMERATED = 0x0a;
const OPERATIONS_ERROR = 1;

/** A group of an emulated server. `onRange` is called after each part of the members was read. */
export interface RangedGroup {
  readonly dn: string;
  members: string[];
  usn: number;
  onRange?: (group: RangedGroup) => void;
}

/**
 * Emulates how Active Directory sends the values of an attribute with more values than a limit: range retrieval as
 * [MS-ADTS] 3.1.1.3.1.3.3 documents it. Samba sends all values unless a range is requested.
 * @param limit MaxValRange
 */
export function startRangingServer(groups: readonly RangedGroup[], limit: number): Promise<FakeLdapServer> {
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
  try {
    const found = groups.filter(({ dn }) => !isBase || dn === base);
    for (const group of found) {
      const values = { uSNChanged: [String(group.usn)], ...membersOf(group, attributes, limit) };
      socket.write(entry(id, group.dn, values));
      group.onRange?.(group);
    }
    socket.write(result(id));
  } catch {
    socket.write(result(id, OPERATIONS_ERROR, '00002120: SvcErr: ERROR_DS_CANT_RETRIEVE_ATTS'));
  }
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
