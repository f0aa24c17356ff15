import { readFile } from 'node:fs/promises';
import { isLoopback } from '../../common/url.js';
import type { LdapServerConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import { LdapConnection } from '../../ldap/client/ldap-connection.js';
import {
  LdapConnectError,
  LdapError,
  LdapTlsError,
  LockingRejectionError,
} from '../../ldap/client/ldap-error.js';
import { readPassword } from './password-file.js';

/** The servers of one directory, in order of preference. */
export class LdapServers {
  constructor(private readonly source: LdapSourceConfig) {}

  /**
   * Connects to the first server that accepts the account.
   * @throws LdapError when no server accepts it; the signal's reason
   */
  async connect(signal: AbortSignal): Promise<LdapConnection> {
    // It is null only where `open` returns null.
    return (await this.first((connection) => Promise.resolve(connection), signal)) as LdapConnection;
  }

  /**
   * Connects to the servers, until one of them can be used.
   * @param open returns null for a server that cannot be used, and closes its connection
   * @throws LdapError when no server accepts the account; the signal's reason
   */
  async first<Opened>(
    open: (connection: LdapConnection) => Promise<Opened | null>,
    signal: AbortSignal,
  ): Promise<Opened | null> {
    const errors: LdapError[] = [];
    for (const server of this.source.servers) {
      try {
        const opened = await open(await this.connectTo(server, signal));
        if (opened !== null) return opened;
      } catch (error) {
        if (!(error instanceof LdapError)) throw error;
        errors.push(error);
      }
    }
    if (errors.length === this.source.servers.length) throw summarize(errors);
    return null;
  }

  /** @throws LdapError when the server does not accept the account; the signal's reason */
  async connectTo({ host, port, security }: LdapServerConfig, signal: AbortSignal): Promise<LdapConnection> {
    const { certificates, bind, client, isExternal } = this.source;
    return LdapConnection.connect({
      host,
      port,
      tls: security,
      ca: certificates ?? undefined,
      client: client === null ? undefined : await readClient(client),
      bindDn: bind?.dn,
      bindPassword: await readPassword(this.source),
      isExternal,
      signal,
    });
  }
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

/** A warning if the password of the account crosses the network unencrypted; null when it does not (pure). */
export function passwordRisk({ bind, servers }: LdapSourceConfig): string | null {
  const hosts = servers.flatMap(({ security, host }) =>
    security === 'none' && !isLoopback(host) ? [host] : [],
  );
  if (bind === null || hosts.length === 0) return null;
  return `The password of ${bind.dn} crosses the network to ${hosts.join(' and ')} unencrypted: set DIRECTORY_STARTTLS=true, or an ldaps:// URL`;
}
