import { OPENLDAP } from './openldap.js';
import type { Preset } from './preset.js';

/** The presets by the name in the key `server` of the model file. A new one is a file in this folder and a line here. */
export const PRESETS = { openldap: OPENLDAP } as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof PRESETS;

export const PRESET_NAMES = Object.keys(PRESETS) as [PresetName, ...PresetName[]];

export const DEFAULT_PRESET: PresetName = 'openldap';
