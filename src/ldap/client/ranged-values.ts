import { Entry } from '../entry.js';
import { LdapProtocolError, LdapResultError, LdapUnstableError } from './ldap-error.js';
import type { LdapConnection, WaitOptions } from './ldap-connection.js';
import { ANY_ENTRY } from './requests.js';
import { ResultCode } from './result-code.js';
import { parseRange } from './value-range.js';

/** Attributes of which at least one differs after a change of an entry, on the servers that send ranges and others. */
const STAMPS = ['uSNChanged', 'whenChanged', 'modifyTimestamp', 'entryCSN'];
/** Readings of all values, of which only the last one saw no change. */
const ATTEMPTS = 10;
const GONE: readonly number[] = [ResultCode.operationsError, ResultCode.noSuchObject];
const NOTHING = Buffer.alloc(0);

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
  const complete = new Map<string, readonly Buffer[]>();
  for (const [key, values] of entry.attributes) {
    const range = parseRange(key);
    if (range === null) {
      if (!complete.has(key)) complete.set(key, values);
    } else complete.set(range.attribute, await readAllValues(connection, entry.dn, range.attribute, options));
  }
  return new Entry(entry.dn, complete);
}

async function readAllValues(
  connection: LdapConnection,
  dn: string,
  attribute: string,
  options: WaitOptions,
): Promise<readonly Buffer[]> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const values = await readUnchanged(connection, dn, attribute, options);
    if (values !== null) return values;
  }
  throw new LdapUnstableError(`An entry changed during each of ${ATTEMPTS} attempts to read all its values`);
}

/**
 * The values from the first to the last range; null when the entry changed between two of them. Each range begins with
 * the last value of the one before: Active Directory changes no stamp of a group when it removes a deleted member.
 */
async function readUnchanged(
  connection: LdapConnection,
  dn: string,
  attribute: string,
  options: WaitOptions,
): Promise<readonly Buffer[] | null> {
  const begin = await readPart(connection, dn, { attribute, first: 0 }, options);
  if (begin === null) return null;
  const values = [...begin.values];
  for (let { isLast } = begin; !isLast;) {
    const first = values.length - 1;
    const part = await readPart(connection, dn, { attribute, first }, options);
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
async function readPart(
  connection: LdapConnection,
  dn: string,
  { attribute, first }: { readonly attribute: string; readonly first: number },
  options: WaitOptions,
): Promise<Part | null> {
  const entry = await readAt(connection, dn, [`${attribute};range=${first}-*`, ...STAMPS], options);
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

/** Null: the entry has gone, or has fewer values, which Active Directory answers with operationsError. */
async function readAt(
  connection: LdapConnection,
  dn: string,
  attributes: readonly string[],
  options: WaitOptions,
): Promise<Entry | null> {
  const request = { base: dn, scope: 'base', filter: ANY_ENTRY, attributes } as const;
  let found: Entry | null = null;
  try {
    for await (const message of connection.search(request, { ...options, acceptsRanges: true })) {
      if (message.kind === 'entry') found = message.entry;
    }
    return found;
  } catch (error) {
    if (error instanceof LdapResultError && GONE.includes(error.code)) return null;
    throw error;
  }
}
