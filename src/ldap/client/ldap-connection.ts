import type { Control } from 'ldapts';
import type { Entry } from '../entry.js';
import { toBindError } from './bind-error.js';
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
import { encodeBind, encodeExternalBind, encodeSearch, type SearchRequest } from './requests.js';
import { ResultCode } from './result-code.js';
import { hasRanges } from './value-range.js';

export interface ConnectionOptions extends SocketOptions {
  /** If omitted, the connection is anonymous. */
  readonly bindDn?: string | undefined;
  readonly bindPassword?: string | undefined;
  /** Whether to bind by the client certificate (SASL EXTERNAL) instead. */
  readonly isExternal?: boolean | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
}

interface Timeouts extends SocketTimeouts {
  readonly bind: number;
  /** The longest wait for the next message of a search. */
  readonly idle: number;
}

/** With these values, a server that does not respond is detected and the request retried within a minute. */
const TIMEOUTS: Timeouts = { connect: 10_000, tls: 10_000, bind: 10_000, idle: 45_000 };

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * The longest wait for the next message, in milliseconds; 0 means no limit. Defaults to the idle timeout of
   * the connection.
   */
  readonly idleTimeout?: number | undefined;
}

interface SearchOptions extends Omit<WaitOptions, 'idleTimeout'> {
  readonly controls?: readonly Control[];
  /**
   * Whether the caller reads the other values of an attribute of which the server sends a part. By default, a part
   * ends the connection, because the other values would appear deleted.
   */
  readonly acceptsRanges?: boolean | undefined;
  /** As in WaitOptions; a function is called again for each message. */
  readonly idleTimeout?: number | (() => number | undefined) | undefined;
}

/** The messages of a search, in the order in which the server sends them. */
export type SearchMessage =
  | { readonly kind: 'entry'; readonly entry: Entry; readonly controls: readonly ResponseControl[] }
  | { readonly kind: 'intermediate'; readonly oid: string | null; readonly value: Buffer }
  | {
      /** The last message: the search succeeded. */
      readonly kind: 'done';
      readonly controls: readonly ResponseControl[];
      /** Number of references to other servers (RFC 4511 §4.5.3). References are never followed. */
      readonly references: number;
    };

/**
 * A connection to a directory server, with any number of concurrent searches (docs/adr/0014).
 *
 * Unread messages pause the socket, which delays all searches of the connection. If the body of a loop over
 * one search waits for another search, that other search can time out.
 */
export class LdapConnection {
  /**
   * Connects, sets up TLS if configured, and binds.
   * @throws {LdapError} of the class that describes the failure; the signal's reason
   */
  static async connect(options: ConnectionOptions): Promise<LdapConnection> {
    const timeouts = { ...TIMEOUTS, ...options.timeouts };
    const { bindDn = '', bindPassword = '', isExternal = false, signal } = options;
    // A bind without a password is an anonymous bind, which succeeds (RFC 4513 §5.1.2) and is not what the
    // configuration intends.
    if (bindDn !== '' && bindPassword === '')
      throw new LdapConnectError(`There is no password for ${bindDn}`);
    const channel = new MessageChannel(await openSocket(options, timeouts));
    const connection = new LdapConnection(channel, bindDn === '' ? null : bindDn, timeouts);
    try {
      if (isExternal) await connection.bind('the client certificate', encodeExternalBind, signal);
      else if (bindDn !== '')
        await connection.bind(bindDn, (id) => encodeBind(id, bindDn, bindPassword), signal);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  private constructor(
    private readonly channel: MessageChannel,
    /** The DN of the bound account; null when the connection is anonymous. */
    readonly bindDn: string | null,
    private readonly timeouts: Timeouts,
  ) {}

  get isOpen(): boolean {
    return this.channel.isOpen;
  }

  /**
   * Yields the messages of a search. The request is sent when the first message is requested. Leaving the
   * loop early abandons the search.
   *
   * @throws {LdapResultError} when the server ends the search with any result but success
   * @throws {LdapError} when the connection ends, or no message arrives in time; the signal's reason
   */
  async *search(
    request: SearchRequest,
    { controls = [], acceptsRanges = false, signal, idleTimeout }: SearchOptions = {},
  ): AsyncGenerator<SearchMessage, void, undefined> {
    const operation = this.channel.begin((id) => encodeSearch(id, request, controls));
    const timeoutMs = () => (typeof idleTimeout === 'function' ? idleTimeout() : idleTimeout);
    let references = 0;
    let isComplete = false;
    try {
      while (!isComplete) {
        const message = await operation.next(timeoutMs() ?? this.timeouts.idle, signal);
        isComplete = message.kind === 'result';
        if (message.kind === 'reference') references += 1;
        else yield this.toSearchMessage(message, references, acceptsRanges);
      }
    } finally {
      operation.end(isComplete);
    }
  }

  /**
   * Sends an unbind request and closes the connection.
   * @param reason the error with which active searches end
   */
  close(reason: LdapError = new LdapClosedError('The connection to the directory server was closed')): void {
    this.channel.close(reason);
  }

  private async bind(
    account: string,
    encode: (id: number) => Buffer,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const operation = this.channel.begin(encode);
    try {
      const message = await operation.next(this.timeouts.bind, signal);
      if (message.kind !== 'result' || message.of !== 'bind')
        throw this.refuse('a response that does not belong to a bind');
      if (message.result.code !== ResultCode.success) throw toBindError(message.result, account);
    } finally {
      // A bind cannot be abandoned (RFC 4511 §4.11).
      operation.end(true);
    }
  }

  private toSearchMessage(
    message: Exclude<LdapMessage, { kind: 'reference' }>,
    references: number,
    acceptsRanges: boolean,
  ): SearchMessage {
    if (message.kind === 'entry' && !acceptsRanges && hasRanges(message.entry))
      throw this.refuse('a part of an attribute only');
    if (message.kind !== 'result') return message;
    const { of, result, controls } = message;
    if (of !== 'search') throw this.refuse('a response that does not belong to a search');
    if (result.code !== ResultCode.success) throw new LdapResultError(result);
    return { kind: 'done', controls, references };
  }

  private refuse(what: string): LdapProtocolError {
    const error = new LdapProtocolError(what);
    this.close(error);
    return error;
  }
}
