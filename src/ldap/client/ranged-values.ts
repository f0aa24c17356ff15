import { Entry } from '../entry.js';
import type { LdapConnection, WaitOptions } from './ldap-connection.js';
import { LdapProtocolError, LdapUnstableError, ResultCode } from './ldap-error.js';
import { parseRange } from './message.js';
import { readOne } from './read-one.js';

/** Attributes of which at least one differs after a change of an entry, on the servers that send ranges and others. */
const STAMPS = ['uSNChanged', 'whenChanged', 'modifyTimestamp', 'entryCSN'];
/** Readings of all values, of which only the last one saw no change. */
const ATTEMPTS = 10;
/** The entry has gone, or has fewer values, which Active Directory answers with operationsError. */
const GONE: readonly number[] = [ResultCode.operationsError, ResultCode.noSuchObject];
const NOTHING = Buffer.alloc(0);

/** Reads attributes of an entry; null if it has gone, or has no such range. */
type Read = (attributes: readonly string[]) => Promise<Entry | null>;

/**
 * Reads the attributes of an entry of which the server sent only a part, to the end. If the entry changes meanwhile,
 * the reading begins again: values could be missing, because a removed value moves the others to lower positions.
 *
 * @throws {LdapUnstableError} when the entry changed during every attempt
 * @throws {LdapError} for every other failure; the signal's reason
 */
export async function completeRanges(
  connection: LdapConnection,
  entry: Entry,
  options: WaitOptions = {},
): Promise<Entry> {
  const read: Read = (attributes) =>
    readOne(connection, entry.dn, attributes, { ...options, acceptsRanges: true }, GONE);
  const complete = new Map<string, readonly Buffer[]>();
  for (const [key, values] of entry.attributes) {
    const range = parseRange(key);
    if (range !== null) complete.set(range.attribute, await readAllValues(read, range.attribute));
    else if (!complete.has(key)) complete.set(key, values);
  }
  return new Entry(entry.dn, complete);
}

async function readAllValues(read: Read, attribute: string): Promise<readonly Buffer[]> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const values = await readUnchanged(read, attribute);
    if (values !== null) return values;
  }
  throw new LdapUnstableError(`An entry changed during each of ${ATTEMPTS} attempts to read all its values`);
}

/**
 * The values from the first to the last range; null when the entry changed between two of them. Each range begins with
 * the last value of the one before: Active Directory changes no stamp of a group when it removes a deleted member.
 */
async function readUnchanged(read: Read, attribute: string): Promise<readonly Buffer[] | null> {
  const begin = await readPart(read, attribute, 0);
  if (begin === null) return null;
  const values = [...begin.values];
  for (let { isLast } = begin; !isLast;) {
    const first = values.length - 1;
    const part = await readPart(read, attribute, first);
    const isContinued =
      part?.stamp === begin.stamp && values[first]?.equals(part.values[0] ?? NOTHING) === true;
    if (!isContinued) return null;
    if (part.values.length === 1 && !part.isLast)
      throw new LdapProtocolError('the same range of values again');
    values.push(...part.values.slice(1));
    ({ isLast } = part);
  }
  return values;
}

interface Part {
  readonly values: readonly Buffer[];
  readonly isLast: boolean;
  /** The same text for the same state of the entry. */
  readonly stamp: string;
}

/** The values from a position on, as many as the server sends; null when there is none at this position any more. */
async function readPart(read: Read, attribute: string, first: number): Promise<Part | null> {
  const entry = await read([`${attribute};range=${first}-*`, ...STAMPS]);
  if (entry === null) return null;
  const stamp = JSON.stringify(STAMPS.map((name) => entry.text(name)));
  for (const [key, values] of entry.attributes) {
    const range = parseRange(key);
    if (range?.attribute !== attribute) continue;
    if (range.first !== first || (range.last !== null && values.length === 0))
      throw new LdapProtocolError('another range of values than the requested one');
    return { values, isLast: range.last === null, stamp };
  }
  // All values were removed meanwhile, or the server has none for this account.
  return first === 0 ? { values: entry.bytes(attribute), isLast: true, stamp } : null;
}
