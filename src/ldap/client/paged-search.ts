import { PagedResultsControl } from 'ldapts';
import { Entry } from '../entry.js';
import { type LdapConnection, readOne, type SearchOptions, type SearchRequest } from './ldap-connection.js';
import { LdapProtocolError, LdapResultError, LdapUnstableError, ResultCode } from './ldap-error.js';
import { BerInput, type ResponseControl } from './message.js';
import { searchErrorOf } from './server-kind.js';

interface PagedOptions extends SearchOptions {
  readonly pageSize?: number;
}

const PAGE_SIZE = 500;

/**
 * Result codes by which servers refuse paged results. OpenLDAP answers adminLimitExceeded if the limits of
 * the account have `size.prtotal=disabled`, and unwillingToPerform if a client left a paged search of glued
 * databases before its end.
 */
const REFUSALS: readonly number[] = [
  ResultCode.protocolError,
  ResultCode.adminLimitExceeded,
  ResultCode.unavailableCriticalExtension,
  ResultCode.unwillingToPerform,
];

/**
 * Reads the entries of a search page by page (RFC 2696), or in one response if the server does not support
 * pages. Only one paged search may run on a connection at a time: OpenLDAP keeps one position for each.
 * @throws {LimitExceededError} when the account may not read everything
 * @throws {LdapError} for every other failure; the signal's reason
 */
export async function* readPaged(
  connection: LdapConnection,
  request: SearchRequest,
  options: PagedOptions = {},
): AsyncGenerator<Entry, void, undefined> {
  try {
    yield* readPages(connection, request, options);
  } catch (error) {
    if (error instanceof LdapProtocolError) connection.close(error);
    if (!(error instanceof LdapResultError)) throw error;
    throw searchErrorOf(error, connection, request.base);
  }
}

async function* readPages(
  connection: LdapConnection,
  request: SearchRequest,
  { pageSize = PAGE_SIZE, controls = [], ...options }: PagedOptions,
): AsyncGenerator<Entry, void, undefined> {
  let cookie: Buffer | null = Buffer.alloc(0);
  let hasBegun = false;
  let isPaged = true;
  while (cookie !== null) {
    const page: PagedResultsControl = new PagedResultsControl({ value: { size: pageSize, cookie } });
    const partial: Entry[] = [];
    let next: Buffer | null = null;
    try {
      const search = { ...options, controls: isPaged ? [...controls, page] : controls };
      for await (const message of connection.search(request, search)) {
        hasBegun = true;
        if (message.kind === 'done') next = nextPage(message.controls);
        if (message.kind !== 'entry') continue;
        // Active Directory sends parts of attributes with more than 1,500 values, or 5,000 in newer versions.
        const isPartial = [...message.entry.attributes.keys()].some((key) => key.includes(RANGE));
        if (isPartial) partial.push(message.entry);
        else yield message.entry;
      }
      if (!isPaged) connection.hasRefusedPages = true;
    } catch (error) {
      if (hasBegun || !isPaged || !isRefusal(error)) throw error;
      isPaged = false;
      continue;
    }
    // The rest of the values is read by other searches, which must not have the cookie of this one (RFC 2696 §3).
    for (const entry of partial) yield await completeRanges(connection, entry, options);
    cookie = next;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof LdapResultError && REFUSALS.includes(error.code);
}

/** The cookie of the next page; null after the last page, or when the server does not support pages. */
function nextPage(controls: readonly ResponseControl[]): Buffer | null {
  const control = controls.find(({ oid }) => oid === PagedResultsControl.type);
  if (control === undefined) return null;
  const value = new BerInput(control.value).enter();
  value.readInteger();
  const cookie = value.readOctets();
  return cookie.length === 0 ? null : cookie;
}

const RANGE = ';range=';

/** A part of the values of an attribute ([MS-ADTS] 3.1.1.3.1.3.3). */
interface ValueRange {
  /** The attribute description without the range. */
  readonly attribute: string;
  readonly first: number;
  /** Null: the values to the end. */
  readonly last: number | null;
}

/**
 * Parses the range in an attribute key; null when the key has none.
 * @param key see attributeKey: its options are in lower case and sorted
 * @throws {LdapProtocolError} when the range is malformed
 */
function parseRange(key: string): ValueRange | null {
  if (!key.includes(RANGE)) return null;
  const [, before = '', first = '', last = '', after = ''] =
    /^(.*);range=(\d{1,9})-(\d{1,9}|\*)(;.*)?$/.exec(key) ?? [];
  if (before === '') throw new LdapProtocolError('a malformed range of values');
  return { attribute: before + after, first: Number(first), last: last === '*' ? null : Number(last) };
}

/** Readings of all values, of which only the last one saw no value move. */
const ATTEMPTS = 10;
/** The entry has gone, or has fewer values, which Active Directory answers with operationsError. */
const GONE: readonly number[] = [ResultCode.operationsError, ResultCode.noSuchObject];
const NOTHING = Buffer.alloc(0);

/** Reads an attribute of an entry; null if it has gone, or has no such range. */
type Read = (attribute: string) => Promise<Entry | null>;

/**
 * Reads the attributes of an entry of which the server sent only a part, to the end.
 * @throws {LdapUnstableError} when values moved during every attempt
 * @throws {LdapError} for every other failure; the signal's reason
 */
async function completeRanges(
  connection: LdapConnection,
  entry: Entry,
  options: SearchOptions,
): Promise<Entry> {
  const read: Read = (attribute) => readOne(connection, entry.dn, [attribute], options, GONE);
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
 * The values from the first to the last range; null when they moved between two of them. Each range begins with the last value of the
 * one before: after a removed value, the others have lower positions, and one of them would be missing.
 */
async function readUnchanged(read: Read, attribute: string): Promise<readonly Buffer[] | null> {
  const begin = await readPart(read, attribute, 0);
  if (begin === null) return null;
  const values = [...begin.values];
  for (let { isLast } = begin; !isLast;) {
    const first = values.length - 1;
    const part = await readPart(read, attribute, first);
    if (part === null || values[first]?.equals(part.values[0] ?? NOTHING) !== true) return null;
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
}

/** The values from a position on, as many as the server sends; null when there is none at this position any more. */
async function readPart(read: Read, attribute: string, first: number): Promise<Part | null> {
  const entry = await read(`${attribute};range=${first}-*`);
  if (entry === null) return null;
  for (const [key, values] of entry.attributes) {
    const range = parseRange(key);
    if (range?.attribute !== attribute) continue;
    if (range.first !== first || (range.last !== null && values.length === 0))
      throw new LdapProtocolError('another range of values than the requested one');
    return { values, isLast: range.last === null };
  }
  // All values were removed meanwhile, or the server has none for this account.
  return first === 0 ? { values: entry.bytes(attribute), isLast: true } : null;
}
