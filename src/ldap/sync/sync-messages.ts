import { BerWriter, Control } from 'ldapts';
import { BerInput, Tag } from '../client/ber.js';
import { LdapProtocolError } from '../client/ldap-error.js';
import type { ResponseControl } from '../client/message.js';
import { formatUuid } from '../naming/entry-uuid.js';

/** OIDs of content synchronization (RFC 4533 §2.2 to §2.5). */
export const SYNC_REQUEST = '1.3.6.1.4.1.4203.1.9.1.1';
const SYNC_STATE = '1.3.6.1.4.1.4203.1.9.1.2';
const SYNC_DONE = '1.3.6.1.4.1.4203.1.9.1.3';
export const SYNC_INFO = '1.3.6.1.4.1.4203.1.9.1.4';

const STATES = ['present', 'add', 'modify', 'delete'] as const;
const REFRESH_ONLY = 1;
const REFRESH_AND_PERSIST = 3;

const NEW_COOKIE = 0x80;
const REFRESH_DELETE = 0xa1;
const REFRESH_PRESENT = 0xa2;
const SYNC_ID_SET = 0xa3;

/** The Sync State Control of an entry (RFC 4533 §2.3). */
interface SyncStateControl {
  readonly state: (typeof STATES)[number];
  readonly uuid: string;
  readonly cookie: Buffer | null;
}

/** The Sync Done Control at the end of a refresh (RFC 4533 §2.4). */
interface SyncDoneControl {
  readonly refreshDeletes: boolean;
  readonly cookie: Buffer | null;
}

/** The Sync Info Message, sent between entries (RFC 4533 §2.5). */
export type SyncInfo = { readonly cookie: Buffer | null } & (
  | { readonly kind: 'newCookie' }
  | { readonly kind: 'refreshPresent' | 'refreshDelete'; readonly refreshDone: boolean }
  | { readonly kind: 'idSet'; readonly refreshDeletes: boolean; readonly uuids: readonly string[] }
);

/**
 * The Sync Request Control (RFC 4533 §2.2). It is critical: the result of a plain search would look like a
 * refresh.
 */
export class SyncRequestControl extends Control {
  constructor(private readonly request: { readonly persist: boolean; readonly cookie: Buffer | null }) {
    super(SYNC_REQUEST, { critical: true });
  }

  override writeControl(writer: BerWriter): void {
    const value = new BerWriter();
    value.startSequence();
    value.writeEnumeration(this.request.persist ? REFRESH_AND_PERSIST : REFRESH_ONLY);
    if (this.request.cookie !== null) value.writeBuffer(this.request.cookie, Tag.octetString);
    value.endSequence();
    writer.writeBuffer(value.buffer, Tag.octetString);
  }
}

/** @throws {LdapProtocolError} when the Sync State Control is missing or malformed */
export function parseSyncState(controls: readonly ResponseControl[]): SyncStateControl {
  const value = valueOf(controls, SYNC_STATE);
  if (value === null) throw new LdapProtocolError('an entry without its synchronization state');
  const state = STATES[value.readInteger(Tag.enumerated)];
  if (state === undefined) throw new LdapProtocolError('an unknown synchronization state');
  return { state, uuid: readUuid(value), cookie: readCookie(value) };
}

/** @returns null when the control is absent */
export function parseSyncDone(controls: readonly ResponseControl[]): SyncDoneControl | null {
  const value = valueOf(controls, SYNC_DONE);
  if (value === null) return null;
  return { cookie: readCookie(value), refreshDeletes: readFlag(value, false) };
}

export function parseSyncInfo(bytes: Buffer): SyncInfo {
  const input = new BerInput(bytes);
  const tag = input.nextTag();
  if (tag === NEW_COOKIE) return { kind: 'newCookie', cookie: Buffer.from(input.readOctets(NEW_COOKIE)) };
  const value = input.enter(tag);
  const cookie = readCookie(value);
  switch (tag) {
    case REFRESH_DELETE:
      return { kind: 'refreshDelete', cookie, refreshDone: readFlag(value, true) };
    case REFRESH_PRESENT:
      return { kind: 'refreshPresent', cookie, refreshDone: readFlag(value, true) };
    case SYNC_ID_SET:
      return { kind: 'idSet', cookie, refreshDeletes: readFlag(value, false), uuids: readUuids(value) };
    default:
      throw new LdapProtocolError('an unknown kind of synchronization message');
  }
}

function valueOf(controls: readonly ResponseControl[], oid: string): BerInput | null {
  const control = controls.find((each) => each.oid === oid);
  return control === undefined ? null : new BerInput(control.value).enter();
}

/** Copies the cookie, because it outlives the message that contains it. */
function readCookie(input: BerInput): Buffer | null {
  return input.isNext(Tag.octetString) ? Buffer.from(input.readOctets()) : null;
}

function readFlag(input: BerInput, otherwise: boolean): boolean {
  return input.isNext(Tag.boolean) ? input.readBoolean() : otherwise;
}

function readUuids(input: BerInput): string[] {
  const set = input.enter(Tag.set);
  const uuids: string[] = [];
  while (!set.isAtEnd) uuids.push(readUuid(set));
  return uuids;
}

/** Reads an entryUUID of 16 octets (RFC 4533 §2.1) as text, in lower case with dashes. */
function readUuid(input: BerInput): string {
  const octets = input.readOctets();
  if (octets.length !== 16) throw new LdapProtocolError(`an entryUUID of ${octets.length} octets`);
  return formatUuid(octets.toString('hex'));
}
