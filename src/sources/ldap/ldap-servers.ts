import { readFile } from 'node:fs/promises';
import type { LdapServerConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { LdapConnectError, LdapError, LdapTlsError } from '../../ldap/client/ldap-error.js';
import { describeBehind, type ServerState } from './position.js';
import { type Bases, readReachedState, readServerState } from './server-state.js';

/** A connected server and its state. */
export interface Choice {
  readonly connection: LdapConnection;
  readonly state: ServerState;
  /** How the server is behind the known state, as a sentence; null when it is not behind. */
  readonly behind: string | null;
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
  async choose(known: ServerState, bases: Bases, signal: AbortSignal): Promise<Choice> {
    const errors: LdapError[] = [];
    let fallback: Choice | null = null;
    for (const server of this.source.servers) {
      try {
        const choice = await this.checkServer(await this.connectTo(server, signal), known, { bases, signal });
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
    known: ServerState,
    { bases, signal }: { readonly bases: Bases; readonly signal: AbortSignal },
  ): Promise<Choice> {
    const close = () => {
      connection.close();
    };
    signal.addEventListener('abort', close);
    try {
      const state = await readServerState(connection, bases);
      if (describeBehind(known, state) === null) return { connection, state, behind: null };
      const reached = await readReachedState(connection, bases, state);
      return { connection, state, behind: describeBehind(known, reached) };
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
      bindPassword: bind === null ? undefined : await this.readPassword(bind.password),
      isExternal,
      signal,
    });
  }

  /** A password file may have been replaced since the start. */
  private async readPassword(otherwise: string): Promise<string> {
    const { passwordFile } = this.source;
    if (passwordFile === null) return otherwise;
    const text = await readFile(passwordFile, 'utf8').catch(() => '');
    const password = text.replace(/\r?\n$/, '');
    return password === '' ? otherwise : password;
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
    cause: first,
  });
}
