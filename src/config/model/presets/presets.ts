/**
 * The kinds of servers, by the name in the key `server` of the model file.
 * A server is of the first kind that recognizes it: FreeIPA is 389 Directory Server with a plugin, and servers of several
 * vendors publish the capabilities of Active Directory, which itself publishes no vendor.
 */
export const PRESET_NAMES = [
  ...(['openldap', 'freeipa', '389ds', 'samba', 'lldap'] as const),
  ...(['authentik', 'kanidm', 'google', 'active-directory'] as const),
] as const;

export type PresetName = (typeof PRESET_NAMES)[number];

export const DEFAULT_PRESET: PresetName = 'openldap';
