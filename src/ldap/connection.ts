import type { Socket } from 'node:net';
import type { Control } from 'ldapts';
import { within } from './deadline.js';
import type { Entry } from './entry.js';
import { Inbox } from './inbox.js';
import {
  LdapClosedError,
  LdapConnectError,
  type LdapError,
  LdapProtocolError,
  LdapResultError,
} from './ldap-error.js';
import { type LdapMessage, parseMessage, type ResponseControl } from './message.js';
import { MessageFrames } from './message-frames.js';
import { openSocket, type SocketOptions, type SocketTimeouts } from './open-socket.js';
import { encodeAbandon, encodeBind, encodeSearch, encodeUnbind, type SearchRequest } from './requests.js';
import { ResultCode } from './result-code.js';

export interface ConnectionOptions extends SocketOptions {
  /** Without one the connection is anonymous. */
  readonly bindDn?: string | undefined;
  readonly bindPassword?: string | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
}

/** In milliseconds. */
export interface Timeouts extends SocketTimeouts {
  readonly bind: number;
  /** The longest silence in a search. */
  readonly idle: number;
}

const TIMEOUTS: Timeouts = { connect: 10_000, tls: 10_000, bind: 10_000, idle: 60_000 };

export interface SearchOptions {
  readonly controls?: readonly Control[];
  readonly signal?: AbortSignal | undefined;
  /** Longest silence in milliseconds, asked anew for every message; 0 is as long as it takes. */
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
      /** References to other servers (RFC 4511 §4.5.3), which are never followed. */
      readonly references: number;
    };

/** What may wait to be taken, over all operations, before the server is made to wait. */
const HIGH_WATER = { messages: 1000, bytes: 8 * 1024 * 1024 };

/**
 * One connection to a directory server, with any number of operations at a time (docs/adr/0014).
 *
 * When what has arrived is not taken, nothing more is read from the server: a loop over one search that waits in
 * its body for another operation of the same connection can wait in vain, until that one's time is up.
 */
export class LdapConnection {
  private readonly frames = new MessageFrames();
  private readonly operations = new Map<number, Inbox>();
  private readonly timeouts: Timeouts;
  private lastId = 0;
  private waiting = { messages: 0, bytes: 0 };
  private end: LdapError | null = null;

  /**
   * Connects, makes the connection safe and binds.
   * @throws {LdapError} of the kind that says what failed; the signal's reason
   */
  static async connect(options: ConnectionOptions): Promise<LdapConnection> {
    const timeouts = { ...TIMEOUTS, ...options.timeouts };
    const connection = new LdapConnection(await openSocket(options, timeouts), options, timeouts);
    try {
      if (options.bindDn !== undefined && options.bindDn !== '') await connection.bind();
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  private constructor(
    private readonly socket: Socket,
    private readonly options: ConnectionOptions,
    timeouts: Timeouts,
  ) {
    this.timeouts = timeouts;
    socket.on('data', (chunk: Buffer) => {
      this.receive(chunk);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code ?? error.message;
      this.fail(
        new LdapClosedError(`The connection to the directory server broke: ${reason}`, { cause: error }),
      );
    });
    socket.on('close', () => {
      this.fail(new LdapClosedError('The directory server closed the connection'));
    });
  }

  /** Who is bound; null: nobody. */
  get bindDn(): string | null {
    return this.options.bindDn ?? null;
  }

  get isOpen(): boolean {
    return this.end === null;
  }

  /**
   * Searches, message by message. Whoever leaves the loop early abandons the search.
   * @throws {LdapResultError} when the server ends it with anything but success
   * @throws {LdapError} when the connection ends, or is silent for too long; the signal's reason
   */
  async *search(
    request: SearchRequest,
    options: SearchOptions = {},
  ): AsyncGenerator<SearchMessage, void, undefined> {
    const { controls = [], signal } = options;
    const { id, inbox } = this.begin((messageId) => encodeSearch(messageId, request, controls));
    let references = 0;
    let isDone = false;
    try {
      while (!isDone) {
        const message = await this.take(inbox, this.patienceOf(options), signal);
        isDone = message.kind === 'result';
        if (message.kind === 'reference') references += 1;
        else yield this.toSearchMessage(message, references);
      }
    } finally {
      this.finish(id, isDone);
    }
  }

  /** Says good-bye to the server. Operations that are still under way end with an LdapClosedError. */
  close(): void {
    if (this.end === null) {
      this.socket.write(encodeUnbind(this.nextId()));
      this.fail(new LdapClosedError('The connection to the directory server was closed'));
    }
  }

  private async bind(): Promise<void> {
    const { bindDn = '', bindPassword = '', signal } = this.options;
    // A DN without a password is an anonymous bind that succeeds (RFC 4513 §5.1.2): nobody means that.
    if (bindPassword === '') throw new LdapConnectError(`There is no password for ${bindDn}`);
    const { id, inbox } = this.begin((messageId) => encodeBind(messageId, bindDn, bindPassword));
    try {
      const message = await this.take(inbox, this.timeouts.bind, signal);
      if (message.kind !== 'result' || message.of !== 'bind')
        throw this.refuse('an answer to a bind that is none');
      if (message.result.code !== ResultCode.success) throw new LdapResultError(message.result);
    } finally {
      this.operations.delete(id);
    }
  }

  private patienceOf({ idleTimeout }: SearchOptions): number {
    return (typeof idleTimeout === 'function' ? idleTimeout() : idleTimeout) ?? this.timeouts.idle;
  }

  private async take(
    inbox: Inbox,
    milliseconds: number,
    signal: AbortSignal | undefined,
  ): Promise<LdapMessage> {
    signal?.throwIfAborted();
    const tooLate = `The directory server said nothing for ${milliseconds} ms`;
    return inbox.takeArrived() ?? (await within({ milliseconds, tooLate, signal }, inbox.take()));
  }

  private toSearchMessage(message: LdapMessage, references: number): SearchMessage {
    switch (message.kind) {
      case 'entry':
        return { kind: 'entry', entry: message.entry, controls: message.controls };
      case 'intermediate':
        return { kind: 'intermediate', oid: message.oid, value: message.value };
      case 'result': {
        if (message.of !== 'search') throw this.refuse(`an answer to a search that is one to ${message.of}`);
        if (message.result.code !== ResultCode.success) throw new LdapResultError(message.result);
        return { kind: 'done', controls: message.controls, references };
      }
      case 'reference':
        throw new TypeError('A reference is no message of a search');
    }
  }

  private begin(encode: (id: number) => Buffer): { id: number; inbox: Inbox } {
    if (this.end !== null) throw this.end;
    const id = this.nextId();
    const inbox = new Inbox((bytes) => {
      this.count(-1, -bytes);
    });
    this.operations.set(id, inbox);
    this.socket.write(encode(id));
    return { id, inbox };
  }

  private finish(id: number, isDone: boolean): void {
    const inbox = this.operations.get(id);
    this.operations.delete(id);
    inbox?.clear();
    if (!isDone && this.end === null) this.socket.write(encodeAbandon(this.nextId(), id));
  }

  private nextId(): number {
    this.lastId += 1;
    return this.lastId;
  }

  private receive(chunk: Buffer): void {
    try {
      for (const frame of this.frames.push(chunk)) {
        // Whoever closed the connection wants to hear no more.
        if (this.end !== null) return;
        this.dispatch(parseMessage(frame), frame.length);
      }
    } catch (error) {
      if (!(error instanceof LdapProtocolError)) throw error;
      this.fail(error);
    }
  }

  private dispatch(message: LdapMessage, bytes: number): void {
    if (message.id === 0) {
      const reason = message.kind === 'result' ? new LdapResultError(message.result) : undefined;
      this.fail(new LdapClosedError('The directory server ended the connection', { cause: reason }));
      return;
    }
    if (message.id > this.lastId) throw new LdapProtocolError('an answer to what was never asked');
    const inbox = this.operations.get(message.id);
    // What was abandoned may still be answered for a while.
    if (inbox === undefined) return;
    this.count(1, bytes);
    inbox.put(message, bytes);
  }

  private count(messages: number, bytes: number): void {
    this.waiting.messages += messages;
    this.waiting.bytes += bytes;
    const load = Math.max(this.waiting.messages / HIGH_WATER.messages, this.waiting.bytes / HIGH_WATER.bytes);
    if (load >= 1) this.socket.pause();
    else if (load <= 0.5 && this.socket.isPaused()) this.socket.resume();
  }

  /** The server does not keep to the protocol: there is no telling what the next bytes mean. */
  private refuse(what: string): LdapProtocolError {
    const error = new LdapProtocolError(what);
    this.fail(error);
    return error;
  }

  /** Ends the connection, and tells everybody who waits. Only the first reason counts. */
  private fail(error: LdapError): void {
    if (this.end !== null) return;
    this.end = error;
    for (const inbox of this.operations.values()) inbox.fail(error);
    if (error instanceof LdapProtocolError) this.socket.destroy();
    else this.socket.destroySoon();
  }
}
