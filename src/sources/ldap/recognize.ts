import type { DirectoryConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import { DEFAULT_PRESET, type PresetName, PRESETS } from '../../config/model/presets/presets.js';
import { LdapError } from '../../ldap/client/ldap-error.js';
import { readRootDse, type ServerKind } from '../../ldap/client/server-kind.js';
import { OtherServerError } from '../source.error.js';
import { LdapServers } from './ldap-servers.js';

/** Milliseconds after which the kind of a server counts as unknown. */
const TIMEOUT_MS = 3000;

/**
 * Returns the kind of the first server that shows it or accepts the account; null when none does soon, or the model names the kind.
 * Most servers show it without an account, so that a start uses a password that may be wrong only once.
 */
export async function recognize(
  { source, isServerGiven }: DirectoryConfig,
  signal: AbortSignal,
): Promise<PresetName | null> {
  if (source.kind === 'file' || isServerGiven) return null;
  const either = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const shown = await recognizeWith({ ...source, bind: null, isExternal: false }, either);
  if (shown !== null && shown !== 'other') return shown;
  const kind = await recognizeWith(source, either);
  return kind === 'other' ? DEFAULT_PRESET : kind;
}

/** Null: no server accepts the account. */
async function recognizeWith(source: LdapSourceConfig, signal: AbortSignal): Promise<ServerKind | null> {
  try {
    const connection = await new LdapServers(source).connect(signal);
    try {
      return (await readRootDse(connection, { idleTimeout: TIMEOUT_MS })).kind;
    } finally {
      connection.close();
    }
  } catch (error) {
    if (error instanceof LdapError || signal.aborted) return null;
    throw error;
  }
}

/**
 * Checks that the server is of the kind whose preset applies, because with another preset all entries seem to be deleted.
 * @throws OtherServerError
 */
export function requireKind({ isServerGiven, server }: DirectoryConfig, shown: ServerKind): void {
  const kind = shown === 'other' ? DEFAULT_PRESET : shown;
  // Samba and Windows can be domain controllers of one domain.
  const isSame = PRESETS[kind].users === PRESETS[server].users;
  if (!isServerGiven && !isSame) throw new OtherServerError(kind, server);
}
