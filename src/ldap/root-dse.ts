import type { LdapConnection } from './connection.js';
import type { Entry } from './entry.js';
import { ANY_ENTRY } from './requests.js';

/** What a server tells of itself (RFC 4512 §5.1, RFC 3045). */
export interface RootDse {
  readonly namingContexts: readonly string[];
  /** OIDs. */
  readonly supportedControls: readonly string[];
  /** OIDs. */
  readonly supportedExtensions: readonly string[];
  /** OpenLDAP, which does not give its name, is known by the class of the entry. */
  readonly vendorName: string | null;
  readonly vendorVersion: string | null;
}

const ATTRIBUTES = [
  'objectClass',
  'namingContexts',
  'supportedControl',
  'supportedExtension',
  'vendorName',
  'vendorVersion',
];

/** @throws {LdapError} */
export async function readRootDse(connection: LdapConnection): Promise<RootDse> {
  const root = await readOne(connection, '', ATTRIBUTES);
  const isOpenLdap = textOf(root, 'objectClass').includes('OpenLDAProotDSE');
  return {
    namingContexts: textOf(root, 'namingContexts'),
    supportedControls: textOf(root, 'supportedControl'),
    supportedExtensions: textOf(root, 'supportedExtension'),
    vendorName: textOf(root, 'vendorName')[0] ?? (isOpenLdap ? 'OpenLDAP' : null),
    vendorVersion: textOf(root, 'vendorVersion')[0] ?? null,
  };
}

/**
 * What stands for the state of a whole database: equal values mean that nothing has changed. Sorted, since there is
 * one for each server that writes; null when the server has none, or does not show them.
 *
 * @throws {LdapError}
 */
export async function readContextCsn(
  connection: LdapConnection,
  suffix: string,
): Promise<readonly string[] | null> {
  const values = textOf(await readOne(connection, suffix, ['contextCSN']), 'contextCSN');
  return values.length === 0 ? null : values.sort();
}

/** An entry by its DN; null when the server shows nothing. */
async function readOne(connection: LdapConnection, dn: string, attributes: string[]): Promise<Entry | null> {
  let found: Entry | null = null;
  for await (const message of connection.search({ base: dn, scope: 'base', filter: ANY_ENTRY, attributes })) {
    if (message.kind === 'entry') found = message.entry;
  }
  return found;
}

/** No byte of these attributes is worth failing for. */
function textOf(entry: Entry | null, attribute: string): string[] {
  return entry?.bytes(attribute).map((value) => value.toString('utf8')) ?? [];
}
