import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { followContent } from '../../ldap/sync/content-sync.js';
import { attributeKey, type Entry } from '../../ldap/entry.js';
import type { SearchRequest } from '../../ldap/client/requests.js';

/** Counts entries, and the entries that have each attribute. */
export class Tally {
  total = 0;
  private readonly counts = new Map<string, number>();

  add(entry: Entry): void {
    this.total++;
    for (const key of entry.attributes.keys()) this.counts.set(key, this.having(key) + 1);
  }

  having(attribute: string): number {
    return this.counts.get(attributeKey(attribute)) ?? 0;
  }
}

/** Yields the entries of a search by content synchronization. */
export async function* readFollowed(
  connection: LdapConnection,
  request: SearchRequest,
  signal: AbortSignal,
): AsyncGenerator<Entry> {
  for await (const event of followContent(connection, { ...request, cookie: null, persist: true, signal })) {
    if (event.kind === 'entry') yield event.entry;
    if (event.kind === 'refreshed') return;
  }
}
