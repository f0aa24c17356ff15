import type { EntityManager } from 'typeorm';
import type { LdapConnection } from '../ldap/connection.js';
import type { DeltaBuilder } from '../sources/delta.js';
import { KINDS, type LdapDirectory } from '../sources/ldap-directory.js';
import { readKnown, readStoredDns } from './stored.js';

/**
 * Compares which entries there are with which are mirrored, and adds the difference to a change: what no message of
 * the server tells. Entries that it hides or shows of a sudden, those below something that was renamed, and, where
 * changes are looked for by their time, those that are gone.
 */
export async function addDifferences(
  delta: DeltaBuilder,
  manager: EntityManager,
  directory: LdapDirectory,
  connection: LdapConnection,
): Promise<void> {
  const unknown: string[] = [];
  for (const kind of KINDS) {
    // The mirror first: what comes between the two is new, and what is missing from the second has really gone.
    const stored = await readStoredDns(manager, kind);
    const known = await readKnown(manager, kind);
    const present = await directory.listPresent(connection, kind);
    const aside = new Set(known.filter((uuid) => !stored.has(uuid)));
    for (const uuid of known) if (!present.has(uuid)) delta.remove(kind, uuid);
    for (const [uuid, dnKey] of present) {
      if (stored.get(uuid) !== dnKey && !aside.has(uuid)) unknown.push(uuid);
    }
  }
  for (const { kind, uuid, entry } of await directory.readAgain(connection, unknown)) {
    delta.put(kind, uuid, entry);
  }
}
