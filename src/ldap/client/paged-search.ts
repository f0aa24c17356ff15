import { type Control, PagedResultsControl } from 'ldapts';
import { BerInput } from './ber.js';
import type { LdapConnection, WaitOptions } from './ldap-connection.js';
import { Entry } from '../entry.js';
import { LdapProtocolError, LdapResultError, withBase } from './ldap-error.js';
import { limitErrorOf } from './server-kind.js';
import { hasRanges, type ResponseControl } from './message.js';
import { completeRanges } from './ranged-values.js';
import type { SearchRequest } from './requests.js';
import { ResultCode } from './ldap-error.js';

interface PagedOptions extends WaitOptions {
  readonly pageSize?: number;
  /** Controls of the search in addition to that of pages. */
  readonly controls?: readonly Control[];
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

/** Connections whose server refused paged results and then answered the same search without the control. */
const withoutPages = new WeakSet<LdapConnection>();

/** Whether the server of a connection refused paged results, so that entries were read in one response. */
export function hasRefusedPages(connection: LdapConnection): boolean {
  return withoutPages.has(connection);
}

/**
 * Reads the entries of a search page by page (RFC 2696), or in one response if the server does not support
 * pages. Attributes of which the server sent a part are read to the end, between two pages. Only one paged search may
 * run on a connection at a time: OpenLDAP keeps one position for each.
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
    throw (await limitErrorOf(error, connection)) ?? withBase(error, request.base);
  }
}

async function* readPages(
  connection: LdapConnection,
  request: SearchRequest,
  { pageSize = PAGE_SIZE, controls = [], ...options }: PagedOptions,
): AsyncGenerator<Entry, void, undefined> {
  let cookie: Buffer | null = Buffer.alloc(0);
  let hasBegun = false;
  while (cookie !== null) {
    const control: PagedResultsControl = new PagedResultsControl({ value: { size: pageSize, cookie } });
    cookie = null;
    try {
      for await (const each of readPage(connection, request, { ...options, controls }, control)) {
        hasBegun = true;
        if (each instanceof Entry) yield each;
        else cookie = nextPage(each);
      }
    } catch (error) {
      // An error thrown by the consumer of the entries is not caught here.
      const isRefused = error instanceof LdapResultError && REFUSALS.includes(error.code);
      if (hasBegun || !isRefused) throw error;
      yield* readAtOnce(connection, request, { ...options, controls });
    }
  }
}

async function* readAtOnce(
  connection: LdapConnection,
  request: SearchRequest,
  options: PagedOptions,
): AsyncGenerator<Entry, void, undefined> {
  for await (const each of readPage(connection, request, options)) {
    if (each instanceof Entry) yield each;
    else withoutPages.add(connection);
  }
}

/**
 * Yields the entries of one response, and the controls at its end. Entries that are sent in part come last. The rest of their
 * values is read by other searches, which must not have the cookie of this one (RFC 2696 §3).
 */
async function* readPage(
  connection: LdapConnection,
  request: SearchRequest,
  options: WaitOptions & { readonly controls?: readonly Control[] },
  page?: PagedResultsControl,
): AsyncGenerator<Entry | readonly ResponseControl[], void, undefined> {
  const partial: Entry[] = [];
  let controls: readonly ResponseControl[] = [];
  const paged = [...(options.controls ?? []), ...(page === undefined ? [] : [page])];
  for await (const message of connection.search(request, {
    ...options,
    controls: paged,
    acceptsRanges: true,
  })) {
    if (message.kind === 'done') ({ controls } = message);
    else if (message.kind === 'entry' && hasRanges(message.entry)) partial.push(message.entry);
    else if (message.kind === 'entry') yield message.entry;
  }
  for (const entry of partial) yield await completeRanges(connection, entry, options);
  yield controls;
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
