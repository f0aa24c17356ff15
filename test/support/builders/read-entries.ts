import type { LdapConnection } from '../../../src/ldap/client/ldap-connection.js';
import { readPaged } from '../../../src/ldap/client/paged-search.js';
import type { Entry } from '../../../src/ldap/entry.js';
import { parseFilter } from '../../../src/ldap/filter/filter.js';

/** Reads the entries below a DN that a filter (RFC 4515) selects, in pages of ten. */
export async function readEntries(
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
