import { BerReader } from 'ldapts';
import { LdapProtocolError } from './ldap-error.js';

/** Universal tags (X.690 §8.1.2) in the forms that LDAP uses (RFC 4511 §5.1). */
export const Tag = {
  boolean: 0x01,
  integer: 0x02,
  octetString: 0x04,
  enumerated: 0x0a,
  sequence: 0x30,
  set: 0x31,
} as const;

/**
 * Reads BER from a server, element by element. A missing element, a wrong length or an unexpected tag is an
 * LdapProtocolError.
 *
 * BerReader alone does not reject malformed input: it reads a length of four octets as a signed number and
 * then moves backwards, returns null for truncated data, and enters sequences that are longer than the
 * available bytes.
 */
export class BerInput {
  private readonly reader: BerReader;

  constructor(bytes: Buffer) {
    this.reader = new BerReader(bytes);
  }

  get isAtEnd(): boolean {
    return this.reader.remain === 0;
  }

  isNext(tag: number): boolean {
    return this.reader.peek() === tag;
  }

  /** The contents of the next element, as a view of the message and not a copy. */
  readOctets(tag: number = Tag.octetString): Buffer {
    const found = this.reader.peek();
    if (found !== tag) throw new LdapProtocolError(`${nameOf(found)} instead of ${nameOf(tag)}`);
    const start = this.reader.offset + 1;
    const contents = this.readLengthAt(start);
    const end = contents + this.reader.length;
    this.reader.offset = end;
    return this.reader.buffer.subarray(contents, end);
  }

  readText(tag: number = Tag.octetString): string {
    return this.readOctets(tag).toString('utf8');
  }

  readInteger(tag: number = Tag.integer): number {
    const octets = this.readOctets(tag);
    if (octets.length < 1 || octets.length > 4) {
      throw new LdapProtocolError(`a number of ${octets.length} octets`);
    }
    return octets.readIntBE(0, octets.length);
  }

  /** Skips the next element, with any tag. */
  skip(): void {
    this.readOctets(this.nextTag());
  }

  readBoolean(): boolean {
    const octets = this.readOctets(Tag.boolean);
    if (octets.length !== 1) throw new LdapProtocolError(`a truth value of ${octets.length} octets`);
    return octets[0] !== 0;
  }

  /** A reader for the contents of the next element. */
  enter(tag: number = Tag.sequence): BerInput {
    return new BerInput(this.readOctets(tag));
  }

  nextTag(): number {
    const tag = this.reader.peek();
    if (tag === null) throw new LdapProtocolError('a message that ends too early');
    return tag;
  }

  /** Reads the length octets, and returns the offset at which the contents begin. */
  private readLengthAt(position: number): number {
    let contents: number | null;
    try {
      contents = this.reader.readLength(position);
    } catch (error) {
      throw new LdapProtocolError('a length that LDAP does not allow', { cause: error });
    }
    const { length, buffer } = this.reader;
    if (contents === null || length < 0 || length > buffer.length - contents) {
      throw new LdapProtocolError('an element that is longer than what it is in');
    }
    return contents;
  }
}

function nameOf(tag: number | null): string {
  return tag === null ? 'nothing' : `an element 0x${tag.toString(16).padStart(2, '0')}`;
}
