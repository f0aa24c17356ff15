import type { Entry } from '../entry.js';
import type { LdapConnection, WaitOptions } from './ldap-connection.js';
import { LdapResultError, ResultCode } from './ldap-error.js';
import { ANY_ENTRY } from './requests.js';

/** Result codes for an entry that does not exist, or that is hidden from this account. */
const HIDDEN: readonly number[] = [ResultCode.noSuchObject, ResultCode.insufficientAccessRights];

/**
 * Reads an entry by its DN; null when it does not exist or is hidden from the account.
 * @param hidden the result codes that mean so
 * @throws {LdapError} for every other failure; the signal's reason
 */
export async function readOne(
  connection: LdapConnection,
  dn: string,
  attributes: readonly string[],
  options: WaitOptions & { readonly acceptsRanges?: boolean } = {},
  hidden = HIDDEN,
): Promise<Entry | null> {
  const request = { base: dn, scope: 'base', filter: ANY_ENTRY, attributes } as const;
  let found: Entry | null = null;
  try {
    for await (const message of connection.search(request, options)) {
      if (message.kind === 'entry') found = message.entry;
    }
    return found;
  } catch (error) {
    if (error instanceof LdapResultError && hidden.includes(error.code)) return null;
    throw error;
  }
}
