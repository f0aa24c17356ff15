import type { Socket } from 'node:net';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import {
  AbandonRequest,
  BindRequest,
  type Control,
  SearchRequest as SearchMessageRequest,
  UnbindRequest,
} from 'ldapts';
import type { PresetName } from '../../config/model/presets/presets.js';
import type { Entry } from '../entry.js';
import { EncodedFilter, type Filter } from '../filter/filter.js';
import {
  LdapClosedError,
  LdapConnectError,
  LdapError,
  LdapProtocolError,
  LdapResultError,
  ResultCode,
  resultCodeName,
  toBindError,
} from './ldap-error.js';
import {
  type LdapMessage,
  MessageFrames,
  NOTICE_OF_DISCONNECTION,
  parseMessage,
  type ResponseControl,
} from './message.js';
import { openSocket, type SocketOptions, STEP_TIMEOUT, within } from './open-socket.js';

export interface ConnectionOptions extends SocketOptions {
  /** If omitted, the connection is anonymous. */
  readonly bindDn?: string | undefined;
  readonly bindPassword?: string | undefined;
  /** Whether to bind by the client certificate (SASL EXTERNAL) instead. */
  readonly isExternal?: boolean | undefined;
}

/** The kinds of servers that differ in attributes, identifiers, or the way in which changes are followed. */
export type ServerKind = PresetName | 'other';

/** The longest wait for the next message of a search, in milliseconds. */
const IDLE_TIMEOUT = 45_000;

/** The number of unread bytes of all searches above which the socket is paused. */
const MOST_UNREAD = 8 * 1024 * 1024;

/** The parameters of a search (RFC 4511 §4.5.1). Aliases are not followed. */
export interface SearchRequest {
  readonly base: string;
  readonly scope: 'base' | 'one' | 'sub';
  readonly filter: Filter;
  /** Attribute descriptions; `*` means all user attributes, `+` all operational attributes. */
  readonly attributes: readonly string[];
}

/** A filter that matches every entry. */
export const ANY_ENTRY: Filter = { kind: 'present', attribute: 'objectClass' };

export interface SearchOptions {
  readonly controls?: readonly Control[];
  readonly signal?: AbortSignal | undefined;
  /** The longest wait for the next message, in milliseconds; 0: no limit. It may change during the search. */
  readonly idleTimeout?: number | undefined;
}

/** The messages of a search, in the order in which the server sends them. References to other servers are not followed. */
export type SearchMessage =
  | { readonly kind: 'entry'; readonly entry: Entry; readonly controls: readonly ResponseControl[] }
  | { readonly kind: 'intermediate'; readonly oid: string | null; readonly value: Buffer }
  /** The last message: the search succeeded. */
  | { readonly kind: 'done'; readonly controls: readonly ResponseControl[] };

/**
 * A connection to a directory server, with any number of concurrent searches (docs/adr/0014), whose responses are matched by
 * message ID (RFC 4511 §4.1.1.1).
 * Unread messages pause the socket, which delays all searches of the connection. If the body of a loop over
 * one search waits for another search, that other search can time out.
 */
export class LdapConnection {
  /**
   * Connects, sets up TLS if configured, and binds.
   * @throws {LdapError} of the class that describes the failure; the signal's reason
   */
  static async connect(options: ConnectionOptions): Promise<LdapConnection> {
    const { bindDn = '', bindPassword = '', isExternal = false } = options;
    // A bind without a password is an anonymous bind, which succeeds (RFC 4513 §5.1.2) and is not what the
    // configuration intends.
    if (bindDn !== '' && bindPassword === '')
      throw new LdapConnectError(`There is no password for ${bindDn}`);
    const socket = await openSocket(options);
    const connection = new LdapConnection(socket, bindDn === '' ? null : bindDn);
    try {
      // SASL EXTERNAL (RFC 4422 Appendix A), without another identity.
      if (isExternal) await connection.bind('the client certificate', { mechanism: 'EXTERNAL' }, options);
      else if (bindDn !== '') await connection.bind(bindDn, { dn: bindDn, password: bindPassword }, options);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  private readonly frames = new MessageFrames();
  /** The unread messages of each operation, or the error with which it ends, by message ID. */
  private readonly inboxes = new Map<number, Readable>();
  private unreadBytes = 0;
  private lastId = 0;
  /** As far as the root DSE was read. It decides what an error says. */
  kind: ServerKind = 'other';
  /** Whether the server refused paged results and then answered the same search without them. */
  hasRefusedPages = false;
  private reason: LdapError | null = null;

  private constructor(
    private readonly socket: Socket,
    /** The DN of the bound account; null when the connection is anonymous. */
    readonly bindDn: string | null,
  ) {
    socket.on('data', (chunk: Buffer) => {
      this.receive(chunk);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const message = `The connection to the directory server broke: ${error.code ?? error.message}`;
      this.fail(new LdapClosedError(message, { cause: error }));
    });
    socket.on('close', () => {
      this.fail(new LdapClosedError('The directory server closed the connection'));
    });
  }

  get isOpen(): boolean {
    return this.reason === null;
  }

  /**
   * Yields the messages of a search. The request is sent when the first message is requested. Leaving the
   * loop early abandons the search.
   * @throws {LdapResultError} when the server ends the search with any result but success
   * @throws {LdapError} when the connection ends, or no message arrives in time; the signal's reason
   */
  async *search(
    { base, scope, filter, attributes }: SearchRequest,
    options: SearchOptions = {},
  ): AsyncGenerator<SearchMessage, void, undefined> {
    const request = { scope, baseDN: base, filter: new EncodedFilter(filter), attributes: [...attributes] };
    // The server has its own limits.
    const limits = { sizeLimit: 0, timeLimit: 0 };
    const controls = [...(options.controls ?? [])];
    const id = this.send((messageId) =>
      new SearchMessageRequest({ messageId, ...request, ...limits, controls }).write(),
    );
    let isComplete = false;
    try {
      while (!isComplete) {
        const message = await this.next(id, options.idleTimeout ?? IDLE_TIMEOUT, options.signal);
        isComplete = message.kind === 'result';
        if (message.kind === 'entry' || message.kind === 'intermediate') yield message;
        else if (message.kind === 'result') yield this.toDone(message);
      }
    } finally {
      this.end(id);
      if (!isComplete && this.isOpen)
        this.socket.write(new AbandonRequest({ messageId: this.nextId(), abandonId: id }).write());
    }
  }

  /**
   * Sends an unbind request (RFC 4511 §4.3) and closes the connection.
   * @param reason the error with which active searches end
   */
  close(reason: LdapError = new LdapClosedError('The connection to the directory server was closed')): void {
    if (!this.isOpen) return;
    this.socket.write(new UnbindRequest({ messageId: this.nextId() }).write());
    this.fail(reason);
  }

  private async bind(account: string, by: object, { signal }: SocketOptions): Promise<void> {
    const id = this.send((messageId) => new BindRequest({ messageId, ...by }).write());
    const message = await this.next(id, STEP_TIMEOUT, signal);
    if (message.kind !== 'result' || message.of !== 'bind')
      throw this.refuse('a response that does not belong to a bind');
    this.end(id);
    if (message.result.code !== ResultCode.success) throw toBindError(message.result, account);
  }

  private toDone({ of, result, controls }: Extract<LdapMessage, { kind: 'result' }>): SearchMessage {
    if (of !== 'search') throw this.refuse('a response that does not belong to a search');
    if (result.code !== ResultCode.success) throw new LdapResultError(result);
    return { kind: 'done', controls };
  }

  private refuse(what: string): LdapProtocolError {
    const error = new LdapProtocolError(what);
    this.close(error);
    return error;
  }

  /**
   * Sends a request.
   * @param encode returns the bytes of the request for its message ID
   * @returns the message ID
   * @throws {LdapError} the error that ended the connection
   */
  private send(encode: (id: number) => Buffer): number {
    if (this.reason !== null) throw this.reason;
    const id = this.nextId();
    this.inboxes.set(id, new Readable({ objectMode: true, read: () => undefined }));
    this.socket.write(encode(id));
    return id;
  }

  /**
   * Waits for the next message of an operation, for some milliseconds; 0 means no limit.
   * @throws {LdapError} when the connection has ended, or the time is over; the signal's reason
   */
  private async next(id: number, milliseconds: number, signal?: AbortSignal): Promise<LdapMessage> {
    const inbox = this.inboxes.get(id);
    if (inbox === undefined) throw new LdapClosedError('The operation has ended');
    for (;;) {
      signal?.throwIfAborted();
      const message = this.take(inbox);
      if (message instanceof LdapError) throw message;
      if (message !== null) return message;
      const tooLate = `The directory server did not answer within ${milliseconds} ms`;
      await within({ milliseconds, tooLate, signal }, once(inbox, 'readable'));
    }
  }

  /** Null: nothing has arrived. */
  private take(inbox: Readable): LdapMessage | LdapError | null {
    const message = inbox.read() as LdapMessage | LdapError | null;
    if (message !== null && 'size' in message) this.unreadBytes -= message.size;
    if (this.unreadBytes <= MOST_UNREAD && this.socket.isPaused()) this.socket.resume();
    return message;
  }

  private end(id: number): void {
    const inbox = this.inboxes.get(id);
    this.inboxes.delete(id);
    while (inbox !== undefined && this.take(inbox) !== null);
  }

  private nextId(): number {
    this.lastId += 1;
    return this.lastId;
  }

  private receive(chunk: Buffer): void {
    try {
      for (const frame of this.frames.push(chunk)) {
        if (!this.isOpen) return;
        this.dispatch(parseMessage(frame));
      }
    } catch (error) {
      // After a protocol error, the boundaries of the following messages are unknown.
      if (!(error instanceof LdapProtocolError)) throw error;
      this.fail(error);
    }
  }

  private dispatch(message: LdapMessage): void {
    if (message.id === 0) {
      this.receiveNotice(message);
      return;
    }
    if (message.id > this.lastId) throw new LdapProtocolError('a response to an unknown request');
    const inbox = this.inboxes.get(message.id);
    // The server may still send messages for an abandoned search.
    if (inbox === undefined) return;
    inbox.push(message);
    this.unreadBytes += message.size;
    if (this.unreadBytes > MOST_UNREAD) this.socket.pause();
  }

  /** Handles an unsolicited notification. Only the Notice of Disconnection has a meaning (RFC 4511 §4.4). */
  private receiveNotice(message: LdapMessage): void {
    if (message.kind !== 'result' || message.of !== 'extended')
      throw new LdapProtocolError('a response without a message id');
    if (message.oid !== NOTICE_OF_DISCONNECTION) return;
    const { code } = message.result;
    const reason = `${resultCodeName(code)} (${code})`;
    this.fail(new LdapClosedError(`The directory server sent a Notice of Disconnection: ${reason}`));
  }

  /** Ends the connection and fails all waiting searches. Only the first reason is kept. */
  private fail(reason: LdapError): void {
    if (!this.isOpen) return;
    this.reason = reason;
    for (const inbox of this.inboxes.values()) inbox.push(reason);
    // Data that has been written is still sent.
    this.socket.destroySoon();
  }
}

/** Result codes for an entry that does not exist, or that is hidden from this account. */
const HIDDEN: readonly number[] = [ResultCode.noSuchObject, ResultCode.insufficientAccessRights];

/**
 * Reads an entry by its DN; null when it does not exist or is hidden from the account.
 * @param hidden the result codes that mean so
 * @throws {LdapError} for every other failure; the signal's reason
 */
export async function readOne(
  connection: LdapConnection,
  dn: string,
  attributes: readonly string[],
  options: SearchOptions = {},
  hidden = HIDDEN,
): Promise<Entry | null> {
  const request = { base: dn, scope: 'base', filter: ANY_ENTRY, attributes } as const;
  let found: Entry | null = null;
  try {
    for await (const message of connection.search(request, options))
      if (message.kind === 'entry') found = message.entry;
    return found;
  } catch (error) {
    if (error instanceof LdapResultError && hidden.includes(error.code)) return null;
    throw error;
  }
}
