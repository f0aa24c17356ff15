import { BerWriter, Control } from 'ldapts';
import type { Entry } from '../entry.js';
import { formatUuid } from '../naming/identifiers.js';
import { BerInput, Tag } from './message.js';
import type { LdapConnection, SearchMessage, SearchOptions, SearchRequest } from './ldap-connection.js';
import { LdapClosedError, LdapError, LdapProtocolError, LdapResultError, ResultCode } from './ldap-error.js';
import { searchErrorOf } from './server-kind.js';

/** OIDs of content synchronization (RFC 4533 §2.2, §2.3 and §2.5). */
export const SYNC_REQUEST = '1.3.6.1.4.1.4203.1.9.1.1';
const SYNC_STATE = '1.3.6.1.4.1.4203.1.9.1.2';
const SYNC_INFO = '1.3.6.1.4.1.4203.1.9.1.4';

const REFRESH_ONLY = 1;
const REFRESH_AND_PERSIST = 3;
const STATES = ['present', 'add', 'modify', 'delete'] as const;
const REFRESH_DELETE = 0xa1;
const REFRESH_PRESENT = 0xa2;
const SYNC_ID_SET = 0xa3;

/** What a server says of the content of a search. UUIDs are in lower case with dashes. */
export type SyncEvent =
  | { readonly kind: 'entry'; readonly uuid: string; readonly entry: Entry }
  | { readonly kind: 'deleted'; readonly uuids: readonly string[] }
  /** Sent once: the events after it are changes that happen now. */
  | { readonly kind: 'refreshed' };

/** The idle timeout applies to the refresh only: after it, a directory may send nothing for days. */
interface SyncRequest extends SearchRequest, Pick<SearchOptions, 'signal'> {
  /** The contextCSN after which changes are sent. Empty: the refresh sends every entry. */
  readonly csns: readonly string[];
  /** Whether changes are sent after the refresh, until the connection ends or the signal is aborted. */
  readonly persist: boolean;
}

/** The server refuses content synchronization: in general, for this search, for this account, or from its contextCSN on. */
export class SyncRefusedError extends LdapError {
  constructor(override readonly cause: LdapResultError) {
    super(`The directory server refuses content synchronization: ${cause.codeName} (${cause.code})`);
  }
}

const REFUSALS: readonly number[] = [
  ResultCode.protocolError,
  ResultCode.unavailableCriticalExtension,
  ResultCode.inappropriateMatching,
  ResultCode.insufficientAccessRights,
  ResultCode.unwillingToPerform,
  ResultCode['e-syncRefreshRequired'],
];

/**
 * Yields the changes of the content of a search (RFC 4533). With `persist`, it never returns normally.
 * @throws {SyncRefusedError} {LimitExceededError} {LdapError} when the connection fails; the signal's reason
 */
export async function* followContent(
  connection: LdapConnection,
  request: SyncRequest,
): AsyncGenerator<SyncEvent, void, undefined> {
  let isRefreshed = false;
  const controls = [new SyncRequestControl(request)];
  const options: SearchOptions & { idleTimeout?: number } = { controls, signal: request.signal };
  try {
    for await (const message of connection.search(request, options)) {
      const event = eventOf(message);
      if (event === null || (isRefreshed && event.kind === 'refreshed')) continue;
      if (event.kind === 'refreshed') [isRefreshed, options.idleTimeout] = [true, 0];
      yield event;
    }
  } catch (error) {
    if (error instanceof LdapProtocolError) connection.close(error);
    if (!(error instanceof LdapResultError)) throw error;
    // A result after the refresh is no refusal: the same request may succeed again.
    if (!isRefreshed && REFUSALS.includes(error.code)) throw new SyncRefusedError(error);
    throw searchErrorOf(error, connection, request.base);
  }
  if (request.persist) throw new LdapClosedError('The directory server ended the content synchronization');
}

/** Null: the message says only which entries have not changed. */
function eventOf(message: SearchMessage): SyncEvent | null {
  if (message.kind === 'done') return { kind: 'refreshed' };
  if (message.kind === 'intermediate') return message.oid === SYNC_INFO ? eventOfInfo(message.value) : null;
  const control = message.controls.find(({ oid }) => oid === SYNC_STATE);
  if (control === undefined) throw new LdapProtocolError('an entry without its synchronization state');
  const value = new BerInput(control.value).enter();
  const state = STATES[value.readInteger(Tag.enumerated)];
  const uuid = readUuid(value);
  if (state === undefined) throw new LdapProtocolError('an unknown synchronization state');
  if (state === 'present') return null;
  return state === 'delete'
    ? { kind: 'deleted', uuids: [uuid] }
    : { kind: 'entry', uuid, entry: message.entry };
}

/** Reads a Sync Info Message. Cookies are not used. */
function eventOfInfo(bytes: Buffer): SyncEvent | null {
  const input = new BerInput(bytes);
  const tag = input.nextTag();
  if (tag !== REFRESH_DELETE && tag !== REFRESH_PRESENT && tag !== SYNC_ID_SET) return null;
  const value = input.enter(tag);
  if (value.isNext(Tag.octetString)) value.skip();
  const isSet = tag === SYNC_ID_SET;
  const flag = value.isNext(Tag.boolean) ? value.readBoolean() : !isSet;
  if (!flag) return null;
  if (!isSet) return { kind: 'refreshed' };
  return { kind: 'deleted', uuids: value.enter(Tag.set).all(readUuid) };
}

/** Reads an entryUUID of 16 octets (RFC 4533 §2.1). */
function readUuid(input: BerInput): string {
  const octets = input.readOctets();
  if (octets.length !== 16) throw new LdapProtocolError(`an entryUUID of ${octets.length} octets`);
  return formatUuid(octets.toString('hex'));
}

/** It is critical: the result of a plain search would look like a refresh. */
class SyncRequestControl extends Control {
  constructor(private readonly request: Pick<SyncRequest, 'persist' | 'csns'>) {
    super(SYNC_REQUEST, { critical: true });
  }

  override writeControl(writer: BerWriter): void {
    const { persist, csns } = this.request;
    const value = new BerWriter();
    value.startSequence();
    value.writeEnumeration(persist ? REFRESH_AND_PERSIST : REFRESH_ONLY);
    // The cookie of OpenLDAP. Without a `rid`, it is not understood; with a `sid`, the changes of that server are not sent.
    if (csns.length > 0) value.writeString(`rid=000,csn=${csns.join(';')}`);
    value.endSequence();
    writer.writeBuffer(value.buffer, Tag.octetString);
  }
}
