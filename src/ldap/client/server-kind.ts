import type { Entry } from '../entry.js';

/** The implementations of LDAP that differ in attributes, identifiers, or the way in which changes are followed. */
export type ServerKind =
  'openldap' | '389ds' | 'freeipa' | 'samba' | 'activeDirectory' | 'lldap' | 'authentik' | 'kanidm' | 'other';

/** The attributes of the root DSE that `recognizeServer` needs. */
export const KIND_ATTRIBUTES: readonly string[] = [
  'objectClass',
  'vendorName',
  'supportedCapabilities',
  'ipaTopologyPluginVersion',
];

/** The beginnings of vendorName (RFC 3045), in lower case. */
const VENDORS: readonly (readonly [string, ServerKind])[] = [
  ['389 project', '389ds'],
  ['samba team', 'samba'],
  ['lldap', 'lldap'],
  ['goauthentik.io', 'authentik'],
  ['kanidm project', 'kanidm'],
];

/** Active Directory, not Lightweight Directory Services ([MS-ADTS] 3.1.1.3.4.3.1). */
const ACTIVE_DIRECTORY = '1.2.840.113556.1.4.800';

/**
 * Recognizes a server by its root DSE (pure). The vendor comes first: Samba and some outposts of authentik
 * publish capabilities of Active Directory, which itself publishes no vendor. FreeIPA is 389 Directory Server
 * with a plugin. OpenLDAP publishes no vendor and has an object class of its own.
 */
export function recognizeServer(root: Entry): ServerKind {
  const [vendor = ''] = root.text('vendorName');
  const [, kind] = VENDORS.find(([name]) => vendor.toLowerCase().startsWith(name)) ?? [];
  if (kind === '389ds') return root.bytes('ipaTopologyPluginVersion').length > 0 ? 'freeipa' : kind;
  if (kind !== undefined) return kind;
  if (root.text('objectClass').includes('OpenLDAProotDSE')) return 'openldap';
  return root.text('supportedCapabilities').includes(ACTIVE_DIRECTORY) ? 'activeDirectory' : 'other';
}
