import type { LdapConnection, WaitOptions } from './ldap-connection.js';
import type { Entry } from '../entry.js';
import { LdapResultError } from './ldap-error.js';
import { ANY_ENTRY, type SearchRequest } from './requests.js';
import { ResultCode } from './result-code.js';

/** Result codes for an entry that does not exist, or that is hidden from this account. */
const HIDDEN: readonly number[] = [ResultCode.noSuchObject, ResultCode.insufficientAccessRights];

/**
 * Reads an entry by its DN; null when it does not exist or is hidden from the account.
 * @throws {LdapError} for every other failure; the signal's reason
 */
export async function readOne(
  connection: LdapConnection,
  dn: string,
  attributes: readonly string[],
  options: WaitOptions = {},
): Promise<Entry | null> {
  return readOnly(connection, { base: dn, scope: 'base', filter: ANY_ENTRY, attributes }, options);
}

/**
 * Reads the only entry that a search finds; null when there is none or it is hidden from the account.
 * @throws {LdapError} for every other failure; the signal's reason
 */
export async function readOnly(
  connection: LdapConnection,
  request: SearchRequest,
  options: WaitOptions = {},
): Promise<Entry | null> {
  let found: Entry | null = null;
  try {
    for await (const message of connection.search(request, options)) {
      if (message.kind === 'entry') found = message.entry;
    }
    return found;
  } catch (error) {
    if (error instanceof LdapResultError && HIDDEN.includes(error.code)) return null;
    throw error;
  }
}
