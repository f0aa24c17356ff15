import { ACTIVE_DIRECTORY } from './active-directory.js';
import type { Preset } from './preset.js';

/** Samba as a domain controller of Active Directory. */
export const SAMBA: Preset = { ...ACTIVE_DIRECTORY, recognition: { vendorName: /^samba team/i } };
