import type { Socket } from 'node:net';
import { BindRequest, type Control, UnbindRequest } from 'ldapts';
import type { Entry } from '../entry.js';
import { MessageFrames } from './ber.js';
import {
  LdapClosedError,
  LdapConnectError,
  type LdapError,
  LdapProtocolError,
  LdapResultError,
  ResultCode,
  resultCodeName,
  toBindError,
} from './ldap-error.js';
import {
  hasRanges,
  type LdapMessage,
  NOTICE_OF_DISCONNECTION,
  parseMessage,
  type ResponseControl,
} from './message.js';
import { openSocket, type SocketOptions, type SocketTimeouts, within } from './open-socket.js';
import { encodeAbandon, encodeSearch, type SearchRequest } from './requests.js';

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

/** Limits on unread messages of all searches. At a limit, the socket is paused. */
const HIGH_WATER = { messages: 1000, bytes: 8 * 1024 * 1024 };

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /** The longest wait for the next message, in milliseconds; 0: no limit. Default: the idle timeout of the connection. */
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
    const timeouts = { ...TIMEOUTS, ...options.timeouts };
    const { bindDn = '', bindPassword = '', isExternal = false, signal } = options;
    // A bind without a password is an anonymous bind, which succeeds (RFC 4513 §5.1.2) and is not what the
    // configuration intends.
    if (bindDn !== '' && bindPassword === '')
      throw new LdapConnectError(`There is no password for ${bindDn}`);
    const socket = await openSocket(options, timeouts);
    const connection = new LdapConnection(socket, bindDn === '' ? null : bindDn, timeouts);
    try {
      // SASL EXTERNAL (RFC 4422 Appendix A), without another identity.
      if (isExternal) await connection.bind('the client certificate', { mechanism: 'EXTERNAL' }, signal);
      else if (bindDn !== '') await connection.bind(bindDn, { dn: bindDn, password: bindPassword }, signal);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  private readonly frames = new MessageFrames();
  private readonly inboxes = new Map<number, Inbox>();
  private readonly waiting = { messages: 0, bytes: 0 };
  private lastId = 0;
  private reason: LdapError | null = null;

  private constructor(
    private readonly socket: Socket,
    /** The DN of the bound account; null when the connection is anonymous. */
    readonly bindDn: string | null,
    private readonly timeouts: Timeouts,
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
    request: SearchRequest,
    { controls = [], acceptsRanges = false, signal, idleTimeout }: SearchOptions = {},
  ): AsyncGenerator<SearchMessage, void, undefined> {
    const inbox = this.send((id) => encodeSearch(id, request, controls));
    const timeoutMs = () => (typeof idleTimeout === 'function' ? idleTimeout() : idleTimeout);
    let isComplete = false;
    try {
      while (!isComplete) {
        const message = await inbox.next(timeoutMs() ?? this.timeouts.idle, signal);
        isComplete = message.kind === 'result';
        if (message.kind === 'entry' && !acceptsRanges && hasRanges(message.entry))
          throw this.refuse('a part of an attribute only');
        if (message.kind === 'entry' || message.kind === 'intermediate') yield message;
        else if (message.kind === 'result') yield this.toDone(message);
      }
    } finally {
      this.end(inbox);
      if (!isComplete && this.isOpen) this.socket.write(encodeAbandon(this.nextId(), inbox.id));
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

  private async bind(account: string, by: object, signal: AbortSignal | undefined): Promise<void> {
    const inbox = this.send((messageId) => new BindRequest({ messageId, ...by }).write());
    const message = await inbox.next(this.timeouts.bind, signal);
    if (message.kind !== 'result' || message.of !== 'bind')
      throw this.refuse('a response that does not belong to a bind');
    this.end(inbox);
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
   * @throws {LdapError} the error that ended the connection
   */
  private send(encode: (id: number) => Buffer): Inbox {
    if (this.reason !== null) throw this.reason;
    const inbox = new Inbox(this.nextId(), (bytes) => {
      this.count(-1, -bytes);
    });
    this.inboxes.set(inbox.id, inbox);
    this.socket.write(encode(inbox.id));
    return inbox;
  }

  private end(inbox: Inbox): void {
    this.inboxes.delete(inbox.id);
    inbox.clear();
  }

  private nextId(): number {
    this.lastId += 1;
    return this.lastId;
  }

  private receive(chunk: Buffer): void {
    try {
      for (const frame of this.frames.push(chunk)) {
        if (!this.isOpen) return;
        this.dispatch(parseMessage(frame), frame.length);
      }
    } catch (error) {
      // After a protocol error, the boundaries of the following messages are unknown.
      if (!(error instanceof LdapProtocolError)) throw error;
      this.fail(error);
    }
  }

  private dispatch(message: LdapMessage, bytes: number): void {
    if (message.id === 0) {
      this.receiveNotice(message);
      return;
    }
    if (message.id > this.lastId) throw new LdapProtocolError('a response to an unknown request');
    const inbox = this.inboxes.get(message.id);
    // The server may still send messages for an abandoned search.
    if (inbox === undefined) return;
    this.count(1, bytes);
    inbox.put(message, bytes);
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

  private count(messages: number, bytes: number): void {
    this.waiting.messages += messages;
    this.waiting.bytes += bytes;
    const load = Math.max(this.waiting.messages / HIGH_WATER.messages, this.waiting.bytes / HIGH_WATER.bytes);
    if (load >= 1) this.socket.pause();
    else if (load <= 0.5 && this.socket.isPaused()) this.socket.resume();
  }

  /** Ends the connection and fails all waiting searches. Only the first reason is kept. */
  private fail(reason: LdapError): void {
    if (!this.isOpen) return;
    this.reason = reason;
    for (const inbox of this.inboxes.values()) inbox.fail(reason);
    // Data that has been written is still sent.
    this.socket.destroySoon();
  }
}

/** The messages of one operation that have arrived. */
class Inbox {
  private readonly arrived: { message: LdapMessage; bytes: number }[] = [];
  private error: Error | null = null;
  private wake: () => void = () => undefined;

  /** @param onTake called with the size in bytes of each message that leaves the queue */
  constructor(
    readonly id: number,
    private readonly onTake: (bytes: number) => void,
  ) {}

  put(message: LdapMessage, bytes: number): void {
    this.arrived.push({ message, bytes });
    this.wake();
  }

  /** Marks the end of the messages. Messages that have arrived can still be taken. */
  fail(error: Error): void {
    this.error ??= error;
    this.wake();
  }

  /**
   * Waits for the next message. Only one caller may wait at a time.
   * @param milliseconds how long to wait for it; 0 means no limit
   * @throws {LdapError} when the connection has ended, or the time is over; the signal's reason
   */
  async next(milliseconds: number, signal?: AbortSignal): Promise<LdapMessage> {
    for (;;) {
      signal?.throwIfAborted();
      const message = this.take();
      if (message !== null) return message;
      if (this.error !== null) throw this.error;
      const tooLate = `The directory server did not answer within ${milliseconds} ms`;
      await within({ milliseconds, tooLate, signal }, new Promise<void>((resolve) => (this.wake = resolve)));
    }
  }

  clear(): void {
    while (this.take() !== null);
  }

  /** Null: none has arrived. */
  private take(): LdapMessage | null {
    const first = this.arrived.shift();
    if (first === undefined) return null;
    this.onTake(first.bytes);
    return first.message;
  }
}
