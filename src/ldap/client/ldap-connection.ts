import type { Control } from 'ldapts';
import type { Entry } from '../entry.js';
import {
  LdapClosedError,
  LdapConnectError,
  type LdapError,
  LdapProtocolError,
  LdapResultError,
} from './ldap-error.js';
import type { LdapMessage, ResponseControl } from './message.js';
import { MessageChannel } from './message-channel.js';
import { openSocket, type SocketOptions, type SocketTimeouts } from './open-socket.js';
import { encodeBind, encodeSearch, type SearchRequest } from './requests.js';
import { ResultCode, resultCodeName } from './result-code.js';

export interface ConnectionOptions extends SocketOptions {
  /** Without one the connection is anonymous. */
  readonly bindDn?: string | undefined;
  readonly bindPassword?: string | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
}

/** In milliseconds. */
export interface Timeouts extends SocketTimeouts {
  readonly bind: number;
  /** The longest wait for the next message of a search. */
  readonly idle: number;
}

/** Somebody who is waited for in vain is found out, and asked anew, within a minute. */
const TIMEOUTS: Timeouts = { connect: 10_000, tls: 10_000, bind: 10_000, idle: 45_000 };

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /** The longest wait for the next message, in milliseconds; 0 is for ever. 45 seconds unless the connection says so. */
  readonly idleTimeout?: number | undefined;
}

export interface SearchOptions extends Omit<WaitOptions, 'idleTimeout'> {
  readonly controls?: readonly Control[];
  /** As in WaitOptions; a function is asked anew for each message. */
  readonly idleTimeout?: number | (() => number | undefined) | undefined;
}

/** What a search brings, in the order in which the server sends it. */
export type SearchMessage =
  | { readonly kind: 'entry'; readonly entry: Entry; readonly controls: readonly ResponseControl[] }
  | { readonly kind: 'intermediate'; readonly oid: string | null; readonly value: Buffer }
  | {
      /** The last one: the search succeeded. */
      readonly kind: 'done';
      readonly controls: readonly ResponseControl[];
      /** References to other servers that came along (RFC 4511 §4.5.3): they are never followed. */
      readonly references: number;
    };

/**
 * A connection to a directory server, with any number of searches at a time (docs/adr/0014).
 *
 * Messages that nobody takes make the server wait, and with it every search of the connection: a loop over one
 * search that waits in its body for another can wait in vain, until the time of that one is up.
 */
export class LdapConnection {
  /**
   * Connects, makes the connection safe and binds.
   * @throws {LdapError} of the class that says what failed; the signal's reason
   */
  static async connect(options: ConnectionOptions): Promise<LdapConnection> {
    const timeouts = { ...TIMEOUTS, ...options.timeouts };
    const { bindDn = '', bindPassword = '', signal } = options;
    // Without a password it would be an anonymous bind, which succeeds (RFC 4513 §5.1.2), and nobody means that.
    if (bindDn !== '' && bindPassword === '')
      throw new LdapConnectError(`There is no password for ${bindDn}`);
    const channel = new MessageChannel(await openSocket(options, timeouts));
    const connection = new LdapConnection(channel, bindDn === '' ? null : bindDn, timeouts);
    try {
      if (bindDn !== '') await connection.bind(bindDn, bindPassword, signal);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  private constructor(
    private readonly channel: MessageChannel,
    /** Who is bound; null: nobody. */
    readonly bindDn: string | null,
    private readonly timeouts: Timeouts,
  ) {}

  get isOpen(): boolean {
    return this.channel.isOpen;
  }

  /**
   * Searches, message by message. Nothing is sent before the first one is asked for, and whoever leaves the loop
   * early abandons the search.
   *
   * @throws {LdapResultError} when the server ends it with anything but success
   * @throws {LdapError} when the connection ends, or the server says nothing for too long; the signal's reason
   */
  async *search(
    request: SearchRequest,
    { controls = [], signal, idleTimeout }: SearchOptions = {},
  ): AsyncGenerator<SearchMessage, void, undefined> {
    const operation = this.channel.begin((id) => encodeSearch(id, request, controls));
    const patience = () => (typeof idleTimeout === 'function' ? idleTimeout() : idleTimeout);
    let references = 0;
    let isComplete = false;
    try {
      while (!isComplete) {
        const message = await operation.next(patience() ?? this.timeouts.idle, signal);
        isComplete = message.kind === 'result';
        if (message.kind === 'reference') references += 1;
        else yield this.toSearchMessage(message, references);
      }
    } finally {
      operation.end(isComplete);
    }
  }

  /**
   * Says good-bye to the server.
   * @param reason with what searches end that are still under way
   */
  close(reason: LdapError = new LdapClosedError('The connection to the directory server was closed')): void {
    this.channel.close(reason);
  }

  private async bind(dn: string, password: string, signal: AbortSignal | undefined): Promise<void> {
    const operation = this.channel.begin((id) => encodeBind(id, dn, password));
    try {
      const message = await operation.next(this.timeouts.bind, signal);
      if (message.kind !== 'result' || message.of !== 'bind')
        throw this.refuse('another answer than a bind has');
      const { code } = message.result;
      if (code === ResultCode.success) return;
      const reason = `${resultCodeName(code)} (${code})`;
      throw new LdapResultError(message.result, `The directory server does not let ${dn} in: ${reason}`);
    } finally {
      // Binds cannot be abandoned.
      operation.end(true);
    }
  }

  private toSearchMessage(
    message: Exclude<LdapMessage, { kind: 'reference' }>,
    references: number,
  ): SearchMessage {
    if (message.kind !== 'result') return message;
    const { of, result, controls } = message;
    if (of !== 'search') throw this.refuse('another answer than a search has');
    if (result.code !== ResultCode.success) throw new LdapResultError(result);
    return { kind: 'done', controls, references };
  }

  private refuse(what: string): LdapProtocolError {
    const error = new LdapProtocolError(what);
    this.close(error);
    return error;
  }
}
