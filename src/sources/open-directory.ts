import type { DirectoryConfig } from '../config/settings/directory.js';
import type { Directory } from './directory.js';
import { openServer } from './ldap/server-directory.js';
import { FileDirectory } from './ldif/file-directory.js';

/**
 * Opens the directory.
 * @param known the newest contextCSN of each server ID that the mirror has seen: of several servers, one that has them is preferred
 */
export async function openDirectory(
  config: DirectoryConfig,
  known: readonly string[],
  signal: AbortSignal,
): Promise<Directory> {
  const { source } = config;
  return source.kind === 'file'
    ? new FileDirectory(config, source)
    : openServer(config, source, known, signal);
}
