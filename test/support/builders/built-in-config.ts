import { type Config, readConfig } from '../../../src/config/config.js';

/** Another directory than the sample, whose model file does not apply then. */
export const NO_SAMPLE = { DIRECTORY_URL: 'file:directory.ldif' };

/** A configuration with the built-in model. */
export function builtInConfig(): Config {
  return readConfig(NO_SAMPLE);
}
