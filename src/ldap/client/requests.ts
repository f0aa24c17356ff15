import { BerWriter, type Control, ProtocolOperation, SearchRequest as LdaptsSearchRequest } from 'ldapts';
import { EncodedFilter } from '../filter/filter-encoder.js';
import type { Filter } from '../filter/filter-parser.js';

/** The parameters of a search (RFC 4511 §4.5.1). Aliases are not followed. */
export interface SearchRequest {
  readonly base: string;
  readonly scope: 'base' | 'one' | 'sub';
  readonly filter: Filter;
  /** Attribute descriptions; `*` means all user attributes, `+` all operational attributes. */
  readonly attributes: readonly string[];
}

/** A filter that matches every entry. */
export const ANY_ENTRY: Filter = { kind: 'present', attribute: 'objectClass' };

/** The server has its own limits, and the client applies an idle timeout. */
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

/** An abandon request (RFC 4511 §4.11), which ldapts does not provide. */
export function encodeAbandon(messageId: number, abandoned: number): Buffer {
  const writer = new BerWriter();
  writer.startSequence();
  writer.writeInt(messageId);
  writer.writeInt(abandoned, ProtocolOperation.LDAP_REQ_ABANDON);
  writer.endSequence();
  return writer.buffer;
}
