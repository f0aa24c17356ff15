import { readFile } from 'node:fs/promises';
import type { LdapServerConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import { LockingRejectionError } from '../../ldap/client/bind-error.js';
import { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { LdapConnectError, LdapError, LdapTlsError } from '../../ldap/client/ldap-error.js';
import { readPassword } from './password-file.js';
import type { ServerState } from './position.js';
import { type Bases, compareWithServer } from './server-state.js';

/** A connected server and its state. */
export interface Choice {
  readonly connection: LdapConnection;
  readonly state: ServerState;
  /** How the server is behind the known state, as a sentence; null when it is not behind. */
  readonly behind: string | null;
}

/** What is known of a directory. */
interface Known {
  readonly state: ServerState;
  readonly bases: Bases;
  /** Describes how a server that shows no such state lacks known changes; null when it does not, as far as is known. */
  readonly findLag: (connection: LdapConnection) => Promise<string | null>;
}

/** The servers of one directory, in order of preference. */
export class LdapServers {
  constructor(private readonly source: LdapSourceConfig) {}

  /**
   * Connects to the first server that accepts the account.
   * @throws LdapError when no server accepts it; the signal's reason
   */
  async connect(signal: AbortSignal): Promise<LdapConnection> {
    const errors: LdapError[] = [];
    for (const server of this.source.servers) {
      try {
        return await this.connectTo(server, signal);
      } catch (error) {
        if (!(error instanceof LdapError)) throw error;
        errors.push(error);
      }
    }
    throw summarize(errors);
  }

  /**
   * Connects to the first server that has all known changes; when there is none, to the first that is behind.
   * @throws LdapError when no server accepts the account; the signal's reason
   */
  async choose(known: Known, signal: AbortSignal): Promise<Choice> {
    const errors: LdapError[] = [];
    let fallback: Choice | null = null;
    for (const server of this.source.servers) {
      try {
        const choice = await this.checkServer(await this.connectTo(server, signal), known, signal);
        if (choice.behind === null) {
          fallback?.connection.close();
          return choice;
        }
        if (fallback === null) fallback = choice;
        else choice.connection.close();
      } catch (error) {
        if (error instanceof LdapError) errors.push(error);
        else {
          fallback?.connection.close();
          throw error;
        }
      }
    }
    if (fallback === null) throw summarize(errors);
    return fallback;
  }

  private async checkServer(
    connection: LdapConnection,
    { state: known, bases, findLag }: Known,
    signal: AbortSignal,
  ): Promise<Choice> {
    const close = () => {
      connection.close();
    };
    signal.addEventListener('abort', close);
    try {
      const { state, behind } = await compareWithServer(connection, bases, known);
      return { connection, state, behind: behind ?? (await findLag(connection)) };
    } catch (error) {
      connection.close();
      throw error;
    } finally {
      signal.removeEventListener('abort', close);
    }
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
