import { PRESET_NAMES, type PresetName, PRESETS } from '../../config/model/presets/presets.js';
import type { Entry } from '../entry.js';

/** The kinds of servers that differ in attributes, identifiers, or the way in which changes are followed. */
export type ServerKind = PresetName | 'other';

/** The attributes of the root DSE that `recognizeServer` needs. */
export const KIND_ATTRIBUTES: readonly string[] = [
  ...new Set(PRESET_NAMES.flatMap((name) => Object.keys(PRESETS[name].recognition ?? {}))),
];

/** Recognizes a server by its root DSE (pure). */
export function recognizeServer(root: Entry): ServerKind {
  const recognizes = (name: PresetName) => {
    const recognition = Object.entries(PRESETS[name].recognition ?? {});
    const matches = recognition.map(([attribute, value]) =>
      root.text(attribute).some((text) => value.test(text)),
    );
    return matches.length > 0 && matches.every((isMatch) => isMatch);
  };
  return PRESET_NAMES.find(recognizes) ?? 'other';
}
