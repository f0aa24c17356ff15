import type { DirectoryConfig } from '../config/settings/directory.js';
import type { LdapConnection } from '../ldap/client/ldap-connection.js';
import { type Directory, SourceError } from './directory.js';
import { FileDirectory } from './file-directory.js';
import { chooseHints } from './ldap/hints.js';
import { connectUntil } from './ldap/ldap-servers.js';
import { ServerDirectory } from './ldap/server-directory.js';

/**
 * Opens the directory: of several servers, the first one that lacks no known change, or else the first one that can be used.
 * @param known the newest contextCSN of each server ID that the mirror has seen
 */
export async function openDirectory(
  config: DirectoryConfig,
  known: readonly string[],
  signal: AbortSignal,
): Promise<Directory> {
  const { source } = config;
  if (source.kind === 'file') return new FileDirectory(config, source);
  const lagging: ServerDirectory[] = [];
  const open = async (connection: LdapConnection) => {
    const directory = new ServerDirectory(config, connection);
    await directory.begin(chooseHints, signal);
    if ((await directory.describeLag(known)) === null) return directory;
    lagging.push(directory);
    return null;
  };
  let used: ServerDirectory | undefined;
  try {
    used = (await connectUntil(source, open, signal)) ?? lagging[0];
    if (used === undefined) throw new SourceError('DIRECTORY_URL names no server');
    return used;
  } finally {
    for (const directory of lagging) if (directory !== used) directory.close();
  }
}
