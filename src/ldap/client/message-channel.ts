import type { Socket } from 'node:net';
import { UnbindRequest } from 'ldapts';
import { within } from './deadline.js';
import { LdapClosedError, type LdapError, LdapProtocolError } from './ldap-error.js';
import { type LdapMessage, NOTICE_OF_DISCONNECTION, parseMessage } from './message.js';
import { MessageFrames } from './message-frames.js';
import { encodeAbandon } from './requests.js';
import { resultCodeName } from './result-code.js';

/** Limits on unread messages of all operations. At a limit, the socket is paused. */
const HIGH_WATER = { messages: 1000, bytes: 8 * 1024 * 1024 };

interface LdapOperation {
  /**
   * The next message of the response.
   * @param milliseconds how long to wait for it; 0 means no limit
   * @throws {LdapError} when the connection has ended, or the time is over; the signal's reason
   */
  next(milliseconds: number, signal?: AbortSignal): Promise<LdapMessage>;
  /** Ends the operation. A response that is not complete is abandoned. */
  end(isComplete: boolean): void;
}

/** Sends requests and matches responses by message ID (RFC 4511 §4.1.1.1), over a connected socket. */
export class MessageChannel {
  private readonly frames = new MessageFrames();
  private readonly inboxes = new Map<number, Inbox>();
  private readonly waiting = { messages: 0, bytes: 0 };
  private lastId = 0;
  private reason: LdapError | null = null;

  constructor(private readonly socket: Socket) {
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
   * Sends a request.
   * @param encode returns the bytes of the request for its message ID
   * @throws {LdapError} the error that ended the channel
   */
  begin(encode: (id: number) => Buffer): LdapOperation {
    if (this.reason !== null) throw this.reason;
    const id = this.nextId();
    const inbox = new Inbox((bytes) => {
      this.count(-1, -bytes);
    });
    this.inboxes.set(id, inbox);
    this.socket.write(encode(id));
    return {
      next: async (milliseconds, signal) => {
        signal?.throwIfAborted();
        const tooLate = `The directory server did not answer within ${milliseconds} ms`;
        return inbox.takeArrived() ?? (await within({ milliseconds, tooLate, signal }, inbox.take()));
      },
      end: (isComplete) => {
        this.inboxes.delete(id);
        inbox.clear();
        if (!isComplete && this.isOpen) this.socket.write(encodeAbandon(this.nextId(), id));
      },
    };
  }

  /**
   * Sends an unbind request (RFC 4511 §4.3) and ends the channel.
   * @param reason the error with which active operations end
   */
  close(reason: LdapError): void {
    if (!this.isOpen) return;
    this.socket.write(new UnbindRequest({ messageId: this.nextId() }).write());
    this.fail(reason);
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
    // The server may still send messages for an abandoned operation.
    if (inbox === undefined) return;
    this.count(1, bytes);
    inbox.put(message, bytes);
  }

  /** Handles an unsolicited notification. Only the Notice of Disconnection has a meaning (RFC 4511 §4.4). */
  private receiveNotice(message: LdapMessage): void {
    if (message.kind !== 'result' || message.of !== 'extended') {
      throw new LdapProtocolError('a response without a message id');
    }
    if (message.oid !== NOTICE_OF_DISCONNECTION) return;
    const { code } = message.result;
    this.fail(
      new LdapClosedError(
        `The directory server sent a Notice of Disconnection: ${resultCodeName(code)} (${code})`,
      ),
    );
  }

  private count(messages: number, bytes: number): void {
    this.waiting.messages += messages;
    this.waiting.bytes += bytes;
    const load = Math.max(this.waiting.messages / HIGH_WATER.messages, this.waiting.bytes / HIGH_WATER.bytes);
    if (load >= 1) this.socket.pause();
    else if (load <= 0.5 && this.socket.isPaused()) this.socket.resume();
  }

  /** Ends the channel and fails all waiting operations. Only the first reason is kept. */
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
  private end: Error | null = null;
  private wake: () => void = () => undefined;

  /** @param onTake called with the size in bytes of each message that leaves the queue */
  constructor(private readonly onTake: (bytes: number) => void) {}

  put(message: LdapMessage, bytes: number): void {
    this.arrived.push({ message, bytes });
    this.wake();
  }

  /** Marks the end of the messages. Messages that have arrived can still be taken. */
  fail(error: Error): void {
    this.end ??= error;
    this.wake();
  }

  /** The next message; null when none has arrived. */
  takeArrived(): LdapMessage | null {
    const first = this.arrived.shift();
    if (first === undefined) return null;
    this.onTake(first.bytes);
    return first.message;
  }

  /**
   * Waits for the next message. Only one caller may wait at a time.
   * @throws the error that ended the connection, after the last message
   */
  async take(): Promise<LdapMessage> {
    for (;;) {
      const message = this.takeArrived();
      if (message !== null) return message;
      if (this.end !== null) throw this.end;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  clear(): void {
    while (this.takeArrived() !== null);
  }
}
