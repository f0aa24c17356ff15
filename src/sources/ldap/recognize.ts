import type { DirectoryConfig } from '../../config/settings/directory.js';
import { DEFAULT_PRESET, type PresetName, PRESETS } from '../../config/model/presets/presets.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { LdapError } from '../../ldap/client/ldap-error.js';
import { readOne } from '../../ldap/client/read-one.js';
import { KIND_ATTRIBUTES, recognizeServer } from '../../ldap/client/server-kind.js';
import { OtherServerError } from '../source.error.js';
import { LdapServers } from './ldap-servers.js';

/** Milliseconds after which the kind of a server counts as unknown. */
const TIMEOUT_MS = 3000;

/** Returns the kind of the first server that accepts the account; null when none does soon, or the model names the kind. */
export async function recognize(
  { source, isServerGiven }: DirectoryConfig,
  signal: AbortSignal,
): Promise<PresetName | null> {
  if (source.kind === 'file' || isServerGiven) return null;
  const either = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const connection = await new LdapServers(source).connect(either);
    try {
      return await readKind(connection);
    } finally {
      connection.close();
    }
  } catch (error) {
    if (error instanceof LdapError || either.aborted) return null;
    throw error;
  }
}

/**
 * Checks that the server is of the kind whose preset applies, because with another preset all entries seem to be deleted.
 * @throws OtherServerError
 */
export async function requireKind(
  { isServerGiven, server }: DirectoryConfig,
  connection: LdapConnection,
): Promise<void> {
  if (isServerGiven) return;
  const kind = await readKind(connection);
  // Samba and Windows can be domain controllers of one domain.
  const isSame = PRESETS[kind].users === PRESETS[server].users;
  if (!isSame) throw new OtherServerError(kind, server);
}

async function readKind(connection: LdapConnection): Promise<PresetName> {
  const root = await readOne(connection, '', KIND_ATTRIBUTES, { idleTimeout: TIMEOUT_MS });
  const kind = root === null ? 'other' : recognizeServer(root);
  return kind === 'other' ? DEFAULT_PRESET : kind;
}
