import { ProtocolOperation } from 'ldapts';
import { BerInput, Tag } from './ber.js';
import { Entry } from '../entry.js';
import { LdapProtocolError, type LdapResult } from './ldap-error.js';

/** A control of a response (RFC 4511 §4.1.11). */
export interface ResponseControl {
  readonly oid: string;
  /** Empty when the control has none. */
  readonly value: Buffer;
}

/** A message from a server, of the kinds that a client receives that only reads. */
export type LdapMessage = { readonly id: number; readonly controls: readonly ResponseControl[] } & (
  | { readonly kind: 'entry'; readonly entry: Entry }
  | { readonly kind: 'reference' }
  | { readonly kind: 'intermediate'; readonly oid: string | null; readonly value: Buffer }
  | {
      readonly kind: 'result';
      readonly of: 'bind' | 'search' | 'extended';
      readonly result: LdapResult;
      /** The name of an extended response (RFC 4511 §4.12). */
      readonly oid: string | null;
    }
);

/** The tag `[APPLICATION 25]` (RFC 4511 §4.13), which ldapts does not define. */
const INTERMEDIATE_RESPONSE = 0x79;
/** The OID of the notice that a server closes the connection (RFC 4511 §4.4.1). */
export const NOTICE_OF_DISCONNECTION = '1.3.6.1.4.1.1466.20036';

const RESULTS = new Map<number, 'bind' | 'search' | 'extended'>([
  [ProtocolOperation.LDAP_RES_BIND, 'bind'],
  [ProtocolOperation.LDAP_RES_SEARCH, 'search'],
  [ProtocolOperation.LDAP_RES_EXTENSION, 'extended'],
]);

type Operation = LdapMessage extends infer Each
  ? Each extends unknown
    ? Omit<Each, 'id' | 'controls'>
    : never
  : never;

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
  return { id, controls, ...operation };
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

const RANGE = ';range=';

/** A part of the values of an attribute ([MS-ADTS] 3.1.1.3.1.3.3). */
interface ValueRange {
  /** The attribute description without the range. */
  readonly attribute: string;
  readonly first: number;
  /** Null: the values to the end. */
  readonly last: number | null;
}

/**
 * Whether a server sent only a part of the values of an attribute. Active Directory does so for attributes with more
 * than 1,500 values, or 5,000 in newer versions.
 */
export function hasRanges(entry: Entry): boolean {
  for (const key of entry.attributes.keys()) if (key.includes(RANGE)) return true;
  return false;
}

/**
 * Parses the range in an attribute key; null when the key has none.
 * @param key see attributeKey: its options are in lower case and sorted
 * @throws {LdapProtocolError} when the range is malformed
 */
export function parseRange(key: string): ValueRange | null {
  if (!key.includes(RANGE)) return null;
  const [, before = '', first = '', last = '', after = ''] =
    /^(.*);range=(\d{1,9})-(\d{1,9}|\*)(;.*)?$/.exec(key) ?? [];
  if (before === '') throw new LdapProtocolError('a malformed range of values');
  return { attribute: before + after, first: Number(first), last: last === '*' ? null : Number(last) };
}
