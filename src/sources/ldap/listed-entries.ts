import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import type { SearchRequest } from '../../ldap/client/requests.js';
import { ResultCode } from '../../ldap/client/result-code.js';
import type { Entry } from '../../ldap/entry.js';
import { type EntryKind, KINDS } from '../source.js';

export interface KnownEntry {
  readonly kind: EntryKind;
  readonly uuid: string;
  readonly entry: Entry;
}

/** Finds entries of a server without identifiers by the DNs under which it listed them. */
export class ListedEntries {
  /** DNs by the identifier that is derived from them. */
  private readonly dns: Record<EntryKind, ReadonlyMap<string, string>> = {
    person: new Map(),
    group: new Map(),
  };

  constructor(private readonly searches: Readonly<Record<EntryKind, SearchRequest>>) {}

  /** Yields the entries of a kind, and records their DNs at the end. */
  async *note(kind: EntryKind, entries: AsyncIterable<KnownEntry>): AsyncGenerator<KnownEntry> {
    const dns = new Map<string, string>();
    for await (const known of entries) {
      dns.set(known.uuid, known.entry.dn);
      yield known;
    }
    this.dns[kind] = dns;
  }

  /** Reads entries again. Entries that were not listed, or do not exist any more, are omitted. */
  async readAgain(connection: LdapConnection, uuids: readonly string[]): Promise<KnownEntry[]> {
    const found: KnownEntry[] = [];
    for (const kind of KINDS) {
      for (const uuid of uuids) {
        const dn = this.dns[kind].get(uuid);
        const entry = dn === undefined ? null : await readAt(connection, this.searches[kind], dn);
        if (entry !== null) found.push({ kind, uuid, entry });
      }
    }
    return found;
  }
}

/** The entry with a DN, if it exists and the filter of a search selects it. */
export async function readAt(
  connection: LdapConnection,
  search: SearchRequest,
  dn: string,
): Promise<Entry | null> {
  let found: Entry | null = null;
  try {
    for await (const message of connection.search({ ...search, base: dn, scope: 'base' }))
      if (message.kind === 'entry') found = message.entry;
  } catch (error) {
    if (!(error instanceof LdapResultError) || error.code !== ResultCode.noSuchObject) throw error;
  }
  return found;
}
