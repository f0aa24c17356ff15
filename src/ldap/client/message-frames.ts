import { Tag } from './ber.js';
import { LdapProtocolError } from './ldap-error.js';

/** Large enough for an entry with a picture of 16 MB. No valid directory entry is expected to exceed it. */
const MAXIMUM_MESSAGE_BYTES = 64 * 1024 * 1024;

const LONG_FORM = 0x80;
const MAXIMUM_LENGTH_OCTETS = 4;

/**
 * Splits the bytes of a connection into LDAP messages (RFC 4511 §5.1), independently of the chunk boundaries.
 * Memory use depends on the bytes that have arrived, and not on the length that a message claims. Each
 * message has its own buffer, so that a retained value does not keep other messages in memory.
 */
export class MessageFrames {
  private frame = Buffer.alloc(0);
  private filled = 0;
  private expected = 2;
  private isHeaderRead = false;

  constructor(private readonly maximumBytes = MAXIMUM_MESSAGE_BYTES) {}

  /** Whether no part of the next message has arrived. */
  get isEmpty(): boolean {
    return this.filled === 0;
  }

  /**
   * Yields the messages that this chunk completes.
   * @throws {LdapProtocolError} for bytes that do not begin an LDAP message, or a message that is too large
   */
  *push(chunk: Buffer): Generator<Buffer, void, undefined> {
    let position = 0;
    while (position < chunk.length) {
      const end = Math.min(position + this.expected - this.filled, chunk.length);
      this.append(chunk, position, end);
      position = end;
      if (this.filled === this.expected && !this.isHeaderRead) this.readHeader();
      if (this.filled === this.expected && this.isHeaderRead) yield this.take();
    }
  }

  private append(chunk: Buffer, start: number, end: number): void {
    const needed = this.filled + end - start;
    if (needed > this.frame.length) {
      const larger = Buffer.allocUnsafe(Math.min(Math.max(needed, 2 * this.frame.length), this.expected));
      this.frame.copy(larger, 0, 0, this.filled);
      this.frame = larger;
    }
    chunk.copy(this.frame, this.filled, start, end);
    this.filled = needed;
  }

  /** Reads the tag and the length: two octets, and as many more as the second octet specifies. */
  private readHeader(): void {
    const [tag, first = 0] = this.frame;
    if (tag !== Tag.sequence) throw new LdapProtocolError('bytes that begin no LDAP message');
    const octets = first & LONG_FORM ? first & ~LONG_FORM : 0;
    if (first === LONG_FORM || octets > MAXIMUM_LENGTH_OCTETS) {
      throw new LdapProtocolError('a message with a length that LDAP does not allow');
    }
    if (this.filled < 2 + octets) {
      this.expected = 2 + octets;
      return;
    }
    const length = octets === 0 ? first : this.frame.readUIntBE(2, octets);
    this.expected = this.filled + length;
    this.isHeaderRead = true;
    if (this.expected > this.maximumBytes) {
      throw new LdapProtocolError(`a message of more than ${this.maximumBytes} bytes`);
    }
  }

  private take(): Buffer {
    const frame = this.frame.subarray(0, this.filled);
    this.frame = Buffer.alloc(0);
    this.filled = 0;
    this.expected = 2;
    this.isHeaderRead = false;
    return frame;
  }
}
