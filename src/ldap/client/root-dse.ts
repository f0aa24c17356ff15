import type { LdapConnection, WaitOptions } from './ldap-connection.js';
import { readOne } from './read-one.js';
import { KIND_ATTRIBUTES, recognizeServer, type ServerKind } from './server-kind.js';

/** The properties that a server publishes in its root DSE (RFC 4512 §5.1, RFC 3045). */
interface RootDse {
  readonly namingContexts: readonly string[];
  /** OIDs. */
  readonly supportedControls: readonly string[];
  /** The vendor name. OpenLDAP publishes none and is recognized by the object class of the root DSE. */
  readonly vendorName: string | null;
  readonly vendorVersion: string | null;
  readonly kind: ServerKind;
}

const ATTRIBUTES = [
  ...new Set(['namingContexts', 'supportedControl', 'vendorName', 'vendorVersion', ...KIND_ATTRIBUTES]),
];

/** @throws {LdapError} and the signal's reason */
export async function readRootDse(connection: LdapConnection, options: WaitOptions = {}): Promise<RootDse> {
  const root = await readOne(connection, '', ATTRIBUTES, options);
  const textOf = (attribute: string) => root?.text(attribute) ?? [];
  const kind = root === null ? 'other' : recognizeServer(root);
  return {
    namingContexts: textOf('namingContexts'),
    supportedControls: textOf('supportedControl'),
    vendorName: textOf('vendorName')[0] ?? (kind === 'openldap' ? 'OpenLDAP' : null),
    vendorVersion: textOf('vendorVersion')[0] ?? null,
    kind,
  };
}
