import { Ber, type BerWriter, Filter as LdaptsFilter, SearchFilter, type SearchFilterValues } from 'ldapts';
import type { ExtensibleMatch, Filter } from './filter-parser.js';

const TAGS = {
  and: SearchFilter.and,
  or: SearchFilter.or,
  not: SearchFilter.not,
  equal: SearchFilter.equalityMatch,
  approximate: SearchFilter.approxMatch,
  greaterOrEqual: SearchFilter.greaterOrEqual,
  lessOrEqual: SearchFilter.lessOrEqual,
  present: SearchFilter.present,
  substrings: SearchFilter.substrings,
  extensible: SearchFilter.extensibleMatch,
} as const;

const INITIAL = 0x80;
const ANY = 0x81;
const FINAL = 0x82;

const MATCHING_RULE = 0x81;
const TYPE = 0x82;
const MATCH_VALUE = 0x83;
const DN_ATTRIBUTES = 0x84;

/**
 * The BER encoding of a filter (RFC 4511 §4.5.1.7). The filters of ldapts store values as text, which loses
 * escaped bytes that are not UTF-8.
 */
export class EncodedFilter extends LdaptsFilter {
  readonly type: SearchFilterValues;

  constructor(private readonly filter: Filter) {
    super();
    this.type = TAGS[filter.kind];
  }

  override write(writer: BerWriter): void {
    writeFilter(this.filter, writer);
  }

  override toString(): string {
    return `(${this.filter.kind})`;
  }
}

function writeFilter(filter: Filter, writer: BerWriter): void {
  const tag = TAGS[filter.kind];
  if (filter.kind === 'present') {
    writer.writeString(filter.attribute, tag);
    return;
  }
  writer.startSequence(tag);
  if ('filters' in filter) for (const each of filter.filters) writeFilter(each, writer);
  else if ('filter' in filter) writeFilter(filter.filter, writer);
  else if (filter.kind === 'extensible') writeExtensible(filter, writer);
  else {
    writer.writeString(filter.attribute);
    if ('pieces' in filter) writePieces(filter.pieces, writer);
    else writer.writeBuffer(filter.value, Ber.OctetString);
  }
  writer.endSequence();
}

function writePieces(pieces: readonly Buffer[], writer: BerWriter): void {
  writer.startSequence();
  pieces.forEach((piece, index) => {
    const tag = index === 0 ? INITIAL : index === pieces.length - 1 ? FINAL : ANY;
    // A piece before the first asterisk or after the last one is omitted when it is empty.
    if (piece.length > 0) writer.writeBuffer(piece, tag);
  });
  writer.endSequence();
}

function writeExtensible({ attribute, rule, includesDn, value }: ExtensibleMatch, writer: BerWriter): void {
  if (rule !== null) writer.writeString(rule, MATCHING_RULE);
  if (attribute !== null) writer.writeString(attribute, TYPE);
  writer.writeBuffer(value, MATCH_VALUE);
  if (includesDn) writer.writeBoolean(true, DN_ATTRIBUTES);
}
