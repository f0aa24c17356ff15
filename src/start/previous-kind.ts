import type { Config } from '../config/config.js';
import { PRESET_NAMES, type PresetName } from '../config/model/presets/presets.js';
import { withServer } from '../config/settings/directory.js';
import type { MirrorState } from '../mirror/status/mirror-state.js';
import { fingerprintOf } from '../sources/source.js';

/**
 * Returns the kind of the server from which the mirror was last written, so that a start while the server is away uses the
 * same names: the one whose preset gives the stored fingerprint. If none does, the configured kind.
 */
export async function previousKind(config: Config, state: MirrorState): Promise<PresetName> {
  const { directory, model } = config;
  const { server, isServerGiven } = directory;
  if (isServerGiven || directory.source.kind === 'file') return server;
  const { fingerprint } = await state.get();
  const candidates = [server, ...PRESET_NAMES];
  return (
    candidates.find((name) => fingerprintOf(withServer(directory, model, name)) === fingerprint) ?? server
  );
}
