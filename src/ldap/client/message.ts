import { ProtocolOperation } from 'ldapts';
import { Entry } from '../entry.js';
import { LdapProtocolError, type LdapResult } from './ldap-error.js';

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
    if (octets.length < 1 || octets.length > 4)
      throw new LdapProtocolError(`a number of ${octets.length} octets`);
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

  /** Reads elements to the end. */
  all<Item>(read: (input: this) => Item): Item[] {
    const items: Item[] = [];
    while (!this.isAtEnd) items.push(read(this));
    return items;
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
    if (octets === 0 || octets > MAXIMUM_LENGTH_OCTETS)
      throw new LdapProtocolError('a length that LDAP does not allow');
    return this.take(octets).readUIntBE(0, octets);
  }

  private take(length: number): Buffer {
    const start = this.offset;
    this.offset += length;
    if (this.offset > this.bytes.length)
      throw new LdapProtocolError('an element that is longer than what it is in');
    return this.bytes.subarray(start, this.offset);
  }
}

function nameOf(tag: number | undefined): string {
  return tag === undefined ? 'nothing' : `an element 0x${tag.toString(16).padStart(2, '0')}`;
}

/** Large enough for an entry with a picture of 16 MB. No valid directory entry is expected to exceed it. */
const MAXIMUM_MESSAGE_BYTES = 64 * 1024 * 1024;

/**
 * Splits the bytes of a connection into LDAP messages (RFC 4511 §5.1), independently of the chunk boundaries.
 * Memory use depends on the bytes that have arrived, and not on the length that a message claims.
 */
export class MessageFrames {
  private parts: Buffer[] = [];
  private size = 0;
  /** The number of bytes with which more is known: those of the next message, or of its header. */
  private expected = 2;

  constructor(private readonly maximumBytes = MAXIMUM_MESSAGE_BYTES) {}

  /** Whether no part of the next message has arrived. */
  get isEmpty(): boolean {
    return this.size === 0;
  }

  /**
   * Yields the messages that this chunk completes.
   * @throws {LdapProtocolError} for bytes that do not begin an LDAP message, or a message that is too large
   */
  *push(chunk: Buffer): Generator<Buffer, void, undefined> {
    this.parts.push(chunk);
    this.size += chunk.length;
    if (this.size < this.expected) return;
    const bytes = Buffer.concat(this.parts);
    let start = 0;
    for (;;) {
      const left = bytes.subarray(start);
      this.expected = this.lengthOf(left);
      if (left.length < this.expected) break;
      const frame = left.subarray(0, this.expected);
      // Values are parts of their message: a small one would keep the other messages in memory.
      yield frame.length > bytes.length / 2 ? frame : Buffer.from(frame);
      start += frame.length;
    }
    this.size = bytes.length - start;
    this.parts = this.size === 0 ? [] : [bytes.subarray(start)];
  }

  /** The length of the message that begins the bytes, or how many of them are needed to know it. */
  private lengthOf(bytes: Buffer): number {
    const [tag = Tag.sequence, first] = bytes;
    if (tag !== Tag.sequence) throw new LdapProtocolError('bytes that begin no LDAP message');
    if (first === undefined) return 2;
    const octets = first < LONG_FORM ? 0 : first - LONG_FORM;
    if (first === LONG_FORM || octets > MAXIMUM_LENGTH_OCTETS)
      throw new LdapProtocolError('a message with a length that LDAP does not allow');
    const header = 2 + octets;
    if (bytes.length < header) return header;
    const length = header + (octets === 0 ? first : bytes.readUIntBE(2, octets));
    if (length > this.maximumBytes)
      throw new LdapProtocolError(`a message of more than ${this.maximumBytes} bytes`);
    return length;
  }
}

/** A control of a response (RFC 4511 §4.1.11). */
export interface ResponseControl {
  readonly oid: string;
  /** Empty when the control has none. */
  readonly value: Buffer;
}

/** A message from a server, of the kinds that a client receives that only reads. */
export type LdapMessage = Operation & {
  readonly id: number;
  /** Number of bytes. */
  readonly size: number;
  readonly controls: readonly ResponseControl[];
};

type Operation =
  | { readonly kind: 'entry'; readonly entry: Entry }
  | { readonly kind: 'reference' }
  | { readonly kind: 'intermediate'; readonly oid: string | null; readonly value: Buffer }
  | {
      readonly kind: 'result';
      readonly of: 'bind' | 'search' | 'extended';
      readonly result: LdapResult;
      /** The name of an extended response (RFC 4511 §4.12). */
      readonly oid: string | null;
    };

/** The tag `[APPLICATION 25]` (RFC 4511 §4.13), which ldapts does not define. */
const INTERMEDIATE_RESPONSE = 0x79;
/** The OID of the notice that a server closes the connection (RFC 4511 §4.4.1). */
export const NOTICE_OF_DISCONNECTION = '1.3.6.1.4.1.1466.20036';

const RESULTS = new Map<number, 'bind' | 'search' | 'extended'>([
  [ProtocolOperation.LDAP_RES_BIND, 'bind'],
  [ProtocolOperation.LDAP_RES_SEARCH, 'search'],
  [ProtocolOperation.LDAP_RES_EXTENSION, 'extended'],
]);

/**
 * Parses one message (RFC 4511 §4.1.1).
 * @throws {LdapProtocolError} for malformed bytes, and for operations that no response to a read request has
 */
export function parseMessage(frame: Buffer): LdapMessage {
  const message = new BerInput(frame).enter();
  const id = message.readInteger();
  if (id < 0) throw new LdapProtocolError('a negative message number');
  const operation = parseOperation(message);
  const controls = message.isAtEnd ? [] : message.enter(ProtocolOperation.LDAP_CONTROLS).all(parseControl);
  return { id, size: frame.length, controls, ...operation };
}

function parseOperation(message: BerInput): Operation {
  const tag = message.nextTag();
  const body = message.enter(tag);
  if (tag === ProtocolOperation.LDAP_RES_SEARCH_ENTRY) return { kind: 'entry', entry: parseEntry(body) };
  if (tag === ProtocolOperation.LDAP_RES_SEARCH_REF) return { kind: 'reference' };
  if (tag === INTERMEDIATE_RESPONSE) {
    const oid = body.isNext(0x80) ? body.readText(0x80) : null;
    return { kind: 'intermediate', oid, value: body.isAtEnd ? Buffer.alloc(0) : body.readOctets(0x81) };
  }
  const of = RESULTS.get(tag);
  if (of === undefined) throw new LdapProtocolError(`an operation 0x${tag.toString(16)} as an answer`);
  return parseResult(of, body);
}

function parseEntry(body: BerInput): Entry {
  const dn = body.readText();
  const attributes = body.enter().all((list) => {
    const attribute = list.enter();
    const description = attribute.readText();
    return [description, attribute.enter(Tag.set).all((set) => set.readOctets())] as const;
  });
  return new Entry(dn, attributes);
}

function parseResult(of: 'bind' | 'search' | 'extended', body: BerInput): Operation {
  const code = body.readInteger(Tag.enumerated);
  body.readText();
  const diagnostic = body.readText();
  let oid: string | null = null;
  while (!body.isAtEnd) {
    // Referrals, SASL credentials and the value of an extended response are not used.
    if (of === 'extended' && body.isNext(0x8a)) oid = body.readText(0x8a);
    else body.skip();
  }
  return { kind: 'result', of, result: { code, diagnostic }, oid };
}

function parseControl(list: BerInput): ResponseControl {
  const control = list.enter();
  const oid = control.readText();
  if (control.isNext(Tag.boolean)) control.readBoolean();
  return { oid, value: control.isAtEnd ? Buffer.alloc(0) : control.readOctets() };
}
