import { ACTIVE_DIRECTORY } from './active-directory.js';
import { AUTHENTIK } from './authentik.js';
import { DIRECTORY_389 } from './directory-389.js';
import { FREEIPA } from './freeipa.js';
import { GOOGLE } from './google.js';
import { KANIDM } from './kanidm.js';
import { LLDAP } from './lldap.js';
import { OPENLDAP } from './openldap.js';
import type { Preset } from './preset.js';
import { SAMBA } from './samba.js';

/**
 * The kinds of servers, by the name in the key `server` of the model file. A new one is a file in this folder and a line here.
 * A server is of the first kind that recognizes it: FreeIPA is 389 Directory Server with a plugin, and servers of several
 * vendors publish the capabilities of Active Directory, which itself publishes no vendor.
 */
export const PRESETS = {
  openldap: OPENLDAP,
  freeipa: FREEIPA,
  '389ds': DIRECTORY_389,
  samba: SAMBA,
  lldap: LLDAP,
  authentik: AUTHENTIK,
  kanidm: KANIDM,
  google: GOOGLE,
  'active-directory': ACTIVE_DIRECTORY,
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof PRESETS;

export const PRESET_NAMES = Object.keys(PRESETS) as [PresetName, ...PresetName[]];

export const DEFAULT_PRESET: PresetName = 'openldap';
