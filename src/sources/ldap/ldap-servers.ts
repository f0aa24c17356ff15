import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLoopback } from '../../common/url.js';
import { DEFAULT_PRESET, type PresetName } from '../../config/model/presets/presets.js';
import type { DirectoryConfig, LdapServerConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import { LdapConnection, type ServerKind } from '../../ldap/client/ldap-connection.js';
import {
  LdapConnectError,
  LdapError,
  LdapTlsError,
  LockingRejectionError,
} from '../../ldap/client/ldap-error.js';
import { readRootDse } from '../../ldap/client/server-kind.js';
import { type Directory, SourceError } from '../directory.js';
import { FileDirectory } from '../file-directory.js';
import { chooseHints } from './hints.js';
import { ServerDirectory } from './server-directory.js';

/**
 * Connects to the first server that accepts the account.
 * @throws LdapError when no server accepts it; the signal's reason
 */
export async function connect(source: LdapSourceConfig, signal: AbortSignal): Promise<LdapConnection> {
  // It is null only where `open` returns null.
  return (await connectUntil(source, (each) => Promise.resolve(each), signal)) as LdapConnection;
}

/**
 * Connects to the servers of one directory, in their order, until one of them can be used.
 * @param open returns null for a server that cannot be used, and closes its connection
 * @throws LdapError when no server accepts the account; the signal's reason
 */
async function connectUntil<Opened>(
  source: LdapSourceConfig,
  open: (connection: LdapConnection) => Promise<Opened | null>,
  signal: AbortSignal,
): Promise<Opened | null> {
  const errors: LdapError[] = [];
  for (const server of source.servers) {
    try {
      const opened = await open(await connectTo(source, server, signal));
      if (opened !== null) return opened;
    } catch (error) {
      if (!(error instanceof LdapError)) throw error;
      errors.push(error);
    }
  }
  if (errors.length === source.servers.length) throw summarize(errors);
  return null;
}

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
    if ((await directory.begin(chooseHints, signal, known)) === null) return directory;
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

/** @throws LdapError when the server does not accept the account; the signal's reason */
export async function connectTo(
  source: LdapSourceConfig,
  { host, port, security }: LdapServerConfig,
  signal: AbortSignal,
): Promise<LdapConnection> {
  const { certificates, bind, client, isExternal } = source;
  return LdapConnection.connect({
    host,
    port,
    tls: security,
    ca: certificates ?? undefined,
    client: client === null ? undefined : await readClient(client),
    bindDn: bind?.dn,
    bindPassword: await readPassword(source),
    isExternal,
    signal,
  });
}

async function readClient(client: { certificate: string; key: string }) {
  try {
    return { cert: await readFile(client.certificate), key: await readFile(client.key) };
  } catch (error) {
    throw new LdapTlsError('The client certificate or its key cannot be read', { cause: error });
  }
}

function summarize(errors: readonly LdapError[]): LdapError {
  const [first] = errors;
  if (first !== undefined && errors.length === 1) return first;
  const reasons = errors.map(({ message }) => message).join('; ');
  return new LdapConnectError(`None of ${errors.length} directory servers is usable: ${reasons}`, {
    // It decides when the next attempt is made.
    cause: errors.find((error) => error instanceof LockingRejectionError) ?? first,
  });
}

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
    const connection = await connect(source, signal);
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

type Password = Pick<LdapSourceConfig, 'bind' | 'passwordFile'>;

/** The password of the account. Its file may have been replaced since the start. */
export async function readPassword({ bind, passwordFile }: Password): Promise<string | undefined> {
  if (passwordFile === null || bind === null) return bind?.password;
  const text = await readFile(passwordFile, 'utf8').catch(() => '');
  const password = text.replace(/\r?\n$/, '');
  return password === '' ? bind.password : password;
}

/** Waits until the password differs from a rejected one, or the time is over, in milliseconds. */
export async function waitForPassword(
  source: Password,
  rejected: string | undefined,
  longest: number,
  signal: AbortSignal,
): Promise<void> {
  const end = performance.now() + longest;
  while (!signal.aborted && performance.now() < end && (await readPassword(source)) === rejected)
    await sleep(1000, undefined, { signal }).catch(() => undefined);
}

/** A warning if the password of the account crosses the network unencrypted; null when it does not (pure). */
export function passwordRisk({ bind, servers }: LdapSourceConfig): string | null {
  const hosts = servers.flatMap(({ security, host }) =>
    security === 'none' && !isLoopback(host) ? [host] : [],
  );
  if (bind === null || hosts.length === 0) return null;
  return `The password of ${bind.dn} crosses the network to ${hosts.join(' and ')} unencrypted: set DIRECTORY_STARTTLS=true, or an ldaps:// URL`;
}
