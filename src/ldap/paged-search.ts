import { PagedResultsControl } from 'ldapts';
import { BerInput } from './ber.js';
import type { LdapConnection, WaitOptions } from './connection.js';
import type { Entry } from './entry.js';
import { LdapProtocolError, LdapResultError } from './ldap-error.js';
import { toLimitError } from './limit-error.js';
import type { ResponseControl } from './message.js';
import type { SearchRequest } from './requests.js';

export interface PagedOptions extends WaitOptions {
  readonly pageSize?: number;
}

const PAGE_SIZE = 500;

/**
 * Reads the entries of a search page by page (RFC 2696), from a server without pages all at once. One at a time on a
 * connection: OpenLDAP remembers one place for each.
 *
 * @throws {LimitExceededError} when the account may not read everything, SizeLimitError among them
 * @throws {LdapError} for everything else that goes wrong; the signal's reason
 */
export async function* readPaged(
  connection: LdapConnection,
  request: SearchRequest,
  { pageSize = PAGE_SIZE, ...options }: PagedOptions = {},
): AsyncGenerator<Entry, void, undefined> {
  let cookie: Buffer | null = Buffer.alloc(0);
  try {
    while (cookie !== null) {
      const control = new PagedResultsControl({ value: { size: pageSize, cookie } });
      cookie = null;
      for await (const message of connection.search(request, { ...options, controls: [control] })) {
        if (message.kind === 'entry') yield message.entry;
        else if (message.kind === 'done') cookie = nextPage(message.controls);
      }
    }
  } catch (error) {
    if (error instanceof LdapProtocolError) connection.close(error);
    throw (error instanceof LdapResultError ? toLimitError(error, connection.bindDn) : null) ?? error;
  }
}

/** The place to go on from; null after the last page, and when the server knows no pages. */
function nextPage(controls: readonly ResponseControl[]): Buffer | null {
  const control = controls.find(({ oid }) => oid === PagedResultsControl.type);
  if (control === undefined) return null;
  const value = new BerInput(control.value).enter();
  value.readInteger();
  const cookie = value.readOctets();
  return cookie.length === 0 ? null : cookie;
}
