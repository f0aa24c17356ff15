import type { LdapConnection, WaitOptions } from './ldap-connection.js';
import { readOne } from './read-one.js';

/** The properties that a server publishes in its root DSE (RFC 4512 §5.1, RFC 3045). */
interface RootDse {
  readonly namingContexts: readonly string[];
  /** OIDs. */
  readonly supportedControls: readonly string[];
  /** The vendor name. OpenLDAP publishes none and is recognized by the object class of the root DSE. */
  readonly vendorName: string | null;
  readonly vendorVersion: string | null;
}

const ATTRIBUTES = ['objectClass', 'namingContexts', 'supportedControl', 'vendorName', 'vendorVersion'];

/** @throws {LdapError} and the signal's reason */
export async function readRootDse(connection: LdapConnection, options: WaitOptions = {}): Promise<RootDse> {
  const root = await readOne(connection, '', ATTRIBUTES, options);
  const textOf = (attribute: string) => root?.text(attribute) ?? [];
  const isOpenLdap = textOf('objectClass').includes('OpenLDAProotDSE');
  return {
    namingContexts: textOf('namingContexts'),
    supportedControls: textOf('supportedControl'),
    vendorName: textOf('vendorName')[0] ?? (isOpenLdap ? 'OpenLDAP' : null),
    vendorVersion: textOf('vendorVersion')[0] ?? null,
  };
}
