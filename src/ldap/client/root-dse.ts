import type { LdapConnection, WaitOptions } from './ldap-connection.js';
import { readOne, textOf } from './read-one.js';

/** The properties that a server publishes in its root DSE (RFC 4512 §5.1, RFC 3045). */
export interface RootDse {
  readonly namingContexts: readonly string[];
  /** OIDs. */
  readonly supportedControls: readonly string[];
  /** OIDs. */
  readonly supportedExtensions: readonly string[];
  /** The vendor name. OpenLDAP does not publish one and is recognized by the object class of the root DSE. */
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

/** @throws {LdapError} and the signal's reason */
export async function readRootDse(connection: LdapConnection, options: WaitOptions = {}): Promise<RootDse> {
  const root = await readOne(connection, '', ATTRIBUTES, options);
  const isOpenLdap = textOf(root, 'objectClass').includes('OpenLDAProotDSE');
  return {
    namingContexts: textOf(root, 'namingContexts'),
    supportedControls: textOf(root, 'supportedControl'),
    supportedExtensions: textOf(root, 'supportedExtension'),
    vendorName: textOf(root, 'vendorName')[0] ?? (isOpenLdap ? 'OpenLDAP' : null),
    vendorVersion: textOf(root, 'vendorVersion')[0] ?? null,
  };
}
