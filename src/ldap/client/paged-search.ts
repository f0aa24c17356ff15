import { type Control, PagedResultsControl } from 'ldapts';
import { BerInput } from './ber.js';
import type { LdapConnection, WaitOptions } from './ldap-connection.js';
import type { Entry } from '../entry.js';
import { LdapProtocolError, LdapResultError, ResultCode, withBase } from './ldap-error.js';
import { limitErrorOf } from './server-kind.js';
import { hasRanges, type ResponseControl } from './message.js';
import { completeRanges } from './ranged-values.js';
import type { SearchRequest } from './requests.js';

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
  let isPaged = true;
  while (cookie !== null) {
    const page: PagedResultsControl = new PagedResultsControl({ value: { size: pageSize, cookie } });
    const partial: Entry[] = [];
    let next: Buffer | null = null;
    try {
      const search = { ...options, controls: isPaged ? [...controls, page] : controls, acceptsRanges: true };
      for await (const message of connection.search(request, search)) {
        hasBegun = true;
        if (message.kind === 'done') next = nextPage(message.controls);
        if (message.kind !== 'entry') continue;
        if (hasRanges(message.entry)) partial.push(message.entry);
        else yield message.entry;
      }
      if (!isPaged) withoutPages.add(connection);
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
