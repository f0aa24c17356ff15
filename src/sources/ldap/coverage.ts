import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { ContentSyncRefusedError } from '../../ldap/sync/content-sync-error.js';
import { readContent } from '../../ldap/sync/content-sync.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import { isRelated } from '../../ldap/naming/naming-context.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { ANY_ENTRY, type SearchRequest } from '../../ldap/client/requests.js';
import type { LdapDirectory } from './ldap-directory.js';
import { KINDS } from '../source.js';

/** An attribute list with only this name requests no attributes (RFC 4511 §4.5.1.8). */
const NO_ATTRIBUTES = ['1.1'];

/**
 * Checks that content synchronization covers all people and groups. Of several databases below one suffix,
 * some may lack the overlay syncprov. A search in such a database is refused. A search above it succeeds, and
 * OpenLDAP omits its entries and their changes without an error.
 * @throws {ContentSyncRefusedError} when a part is refused or omitted
 * @throws {LdapError} for every other failure; the signal's reason
 */
export async function requireCoverage(
  directory: LdapDirectory,
  connection: LdapConnection,
  signal: AbortSignal,
): Promise<void> {
  for (const kind of KINDS) {
    const { base } = directory.searches[kind];
    const request = { base, scope: 'base', filter: ANY_ENTRY, attributes: NO_ATTRIBUTES } as const;
    try {
      await readUuids(connection, request, signal);
    } catch (error) {
      if (!(error instanceof ContentSyncRefusedError)) throw error;
      throw new ContentSyncRefusedError(`${error.message}, for ${base}`, { cause: error });
    }
  }
  const leftOut = await findLeftOut(directory, connection, signal);
  if (leftOut === null) return;
  throw new ContentSyncRefusedError(
    `The directory server omits ${leftOut} from content synchronization: its database lacks the overlay syncprov`,
  );
}

/**
 * The DN of a container of people or groups that a search returns and content synchronization omits; null
 * when there is none. The top entry of a database is a container, so this check finds every omitted database.
 */
async function findLeftOut(
  directory: LdapDirectory,
  connection: LdapConnection,
  signal: AbortSignal,
): Promise<string | null> {
  const bases = KINDS.map((kind) => directory.searches[kind].base);
  const shown = await readShown(connection, directory.containers, signal);
  const readable = await readUuids(connection, directory.containers, signal);
  const missing = [...shown].filter(
    ([uuid, dn]) => !readable.has(uuid) && bases.some((base) => isRelated(dn, base)),
  );
  if (missing.length === 0) return null;
  // An entry that was deleted between the two searches is not omitted.
  const shownAfter = await readShown(connection, directory.containers, signal);
  return missing.find(([uuid]) => shownAfter.has(uuid))?.[1] ?? null;
}

async function readShown(
  connection: LdapConnection,
  request: SearchRequest,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const shown = new Map<string, string>();
  for await (const entry of readPaged(connection, request, { signal })) {
    if (entry.bytes('entryUUID').length === 0) continue;
    const uuid = uuidOfEntry(entry, 'entryUUID');
    if (uuid !== null) shown.set(uuid, entry.dn);
  }
  return shown;
}

async function readUuids(
  connection: LdapConnection,
  request: SearchRequest,
  signal: AbortSignal,
): Promise<Set<string>> {
  const readable = new Set<string>();
  for await (const { uuid } of readContent(connection, request, signal)) readable.add(uuid);
  return readable;
}
