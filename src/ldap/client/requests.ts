import {
  BerWriter,
  BindRequest,
  type Control,
  ProtocolOperation,
  SearchRequest as LdaptsSearchRequest,
  UnbindRequest,
} from 'ldapts';
import { EncodedFilter } from '../filter/filter-encoder.js';
import type { Filter } from '../filter/filter-parser.js';

/** What to look for (RFC 4511 §4.5.1). Aliases are not followed. */
export interface SearchRequest {
  readonly base: string;
  readonly scope: 'base' | 'one' | 'sub';
  readonly filter: Filter;
  /** Attribute descriptions; `*` are all that users write, `+` all that the server keeps. */
  readonly attributes: readonly string[];
}

/** The filter that every entry passes. */
export const ANY_ENTRY: Filter = { kind: 'present', attribute: 'objectClass' };

export function encodeBind(messageId: number, dn: string, password: string): Buffer {
  return new BindRequest({ messageId, dn, password }).write();
}

export function encodeUnbind(messageId: number): Buffer {
  return new UnbindRequest({ messageId }).write();
}

/** Without limits of ours: the server has its own, and silence is counted here. */
export function encodeSearch(
  messageId: number,
  { base, scope, filter, attributes }: SearchRequest,
  controls: readonly Control[],
): Buffer {
  return new LdaptsSearchRequest({
    messageId,
    baseDN: base,
    scope,
    filter: new EncodedFilter(filter),
    attributes: [...attributes],
    sizeLimit: 0,
    timeLimit: 0,
    controls: [...controls],
  }).write();
}

/** RFC 4511 §4.11; ldapts has no message for it. */
export function encodeAbandon(messageId: number, abandoned: number): Buffer {
  const writer = new BerWriter();
  writer.startSequence();
  writer.writeInt(messageId);
  writer.writeInt(abandoned, ProtocolOperation.LDAP_REQ_ABANDON);
  writer.endSequence();
  return writer.buffer;
}
