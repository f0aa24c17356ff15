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

/** Marks a length that follows in as many octets as the other bits say (X.690 §8.1.3.5). */
const LONG_FORM = 0x80;
const MAXIMUM_LENGTH_OCTETS = 4;

/**
 * Reads BER from a server, element by element. A missing element, a wrong length or an unexpected tag is an
 * LdapProtocolError: BerReader of ldapts accepts such input.
 */
export class BerInput {
  private offset = 0;

  constructor(private readonly bytes: Buffer) {}

  get isAtEnd(): boolean {
    return this.offset === this.bytes.length;
  }

  /** What is left of the elements. */
  get rest(): Buffer {
    return this.bytes.subarray(this.offset);
  }

  isNext(tag: number): boolean {
    return this.bytes[this.offset] === tag;
  }

  /** The contents of the next element, as a view of the message and not a copy. */
  readOctets(tag: number = Tag.octetString): Buffer {
    const found = this.bytes[this.offset];
    if (found !== tag) throw new LdapProtocolError(`${nameOf(found)} instead of ${nameOf(tag)}`);
    this.offset += 1;
    return this.take(this.readLength());
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

  skip(): void {
    this.readOctets(this.nextTag());
  }

  readBoolean(): boolean {
    const octets = this.readOctets(Tag.boolean);
    if (octets.length !== 1) throw new LdapProtocolError(`a truth value of ${octets.length} octets`);
    return octets[0] !== 0;
  }

  enter(tag: number = Tag.sequence): BerInput {
    return new BerInput(this.readOctets(tag));
  }

  nextTag(): number {
    const tag = this.bytes[this.offset];
    if (tag === undefined) throw new LdapProtocolError('a message that ends too early');
    return tag;
  }

  private readLength(): number {
    const [first = 0] = this.take(1);
    if (first < LONG_FORM) return first;
    const octets = first - LONG_FORM;
    if (octets === 0 || octets > MAXIMUM_LENGTH_OCTETS) {
      throw new LdapProtocolError('a length that LDAP does not allow');
    }
    return this.take(octets).readUIntBE(0, octets);
  }

  private take(length: number): Buffer {
    const start = this.offset;
    this.offset += length;
    if (this.offset > this.bytes.length) {
      throw new LdapProtocolError('an element that is longer than what it is in');
    }
    return this.bytes.subarray(start, this.offset);
  }
}

function nameOf(tag: number | undefined): string {
  return tag === undefined ? 'nothing' : `an element 0x${tag.toString(16).padStart(2, '0')}`;
}
