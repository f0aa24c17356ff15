import { deserialize, serialize } from 'node:v8';
import { deepFreeze } from '../common/deep-freeze.js';
import type { Config } from './config.js';

/**
 * Writes a configuration for another process. It has the contents of all files that the settings name, so that the processes of a
 * service have the same, although the files may have changed since.
 */
export function writeConfigCopy(config: Config): Buffer {
  return serialize(config);
}

/** @param bytes what writeConfigCopy of the same version has returned */
export function readConfigCopy(bytes: Buffer): Config {
  return deepFreeze(deserialize(bytes) as Config);
}
