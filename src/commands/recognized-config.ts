import { type Config, configFor, readConfig } from '../config/config.js';
import type { PresetName } from '../config/model/presets/presets.js';

/** The kind of the server; null if the model names it, or the server does not respond, or there is none. */
export async function readKind({ directory }: Config): Promise<PresetName | null> {
  if (directory.source.kind === 'file') return null;
  const { recognize } = await import('../sources/ldap/ldap-servers.js');
  return recognize(directory, new AbortController().signal);
}

/** Reads the configuration, with the preset of the server if it is recognized. */
export async function readRecognizedConfig(): Promise<Config> {
  const config = readConfig();
  const kind = await readKind(config);
  return kind === null ? config : configFor(config, kind);
}
