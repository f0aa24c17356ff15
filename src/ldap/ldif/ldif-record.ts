import { BerWriter } from 'ldapts';
import { EncodedFilter } from '../filter/filter-encoder.js';
import type { Filter } from '../filter/filter-parser.js';

/** An attribute and values of it. The attribute is a description (RFC 4512 §2.5) as it was configured. */
export interface AttributeValues {
  readonly attribute: string;
  readonly values: readonly string[];
}

/** One step of a modification: values that are added to an attribute, or deleted from it by name. */
export interface ValueChange extends AttributeValues {
  readonly operation: 'add' | 'delete';
}

/** A change of one entry, as an LDIF change record describes it. */
export type ChangeRecord = { readonly dn: string; readonly assertion?: Filter } & (
  | { readonly changetype: 'modify'; readonly changes: readonly ValueChange[] }
  | { readonly changetype: 'add'; readonly attributes: readonly AttributeValues[] }
  | { readonly changetype: 'delete' }
);

export type AddRecord = Extract<ChangeRecord, { changetype: 'add' }>;

/** RFC 4528: the server makes the change only if the entry matches a filter, and answers assertionFailed if not. */
const ASSERTION_CONTROL = '1.3.6.1.1.12';
const LONGEST_LINE = 76;

/**
 * Writes change records (RFC 2849), to be applied in this order: in ASCII, in base64 what needs it, folded at 76
 * columns. Like what `ldapsearch` writes it ends in a blank line, so that one text after another is again one that
 * ldapmodify takes (OpenLDAP 2.5 accepts the version line at the beginning of any record).
 */
export function writeLdif(records: readonly ChangeRecord[]): string {
  return `version: 1\n${records.map(writeRecord).join('')}`;
}

function writeRecord(record: ChangeRecord): string {
  const lines = [writeValue('dn', record.dn)];
  if (record.assertion !== undefined) {
    lines.push(`control: ${ASSERTION_CONTROL} true:: ${encodeFilter(record.assertion).toString('base64')}`);
  }
  lines.push(`changetype: ${record.changetype}`);
  if (record.changetype === 'modify') {
    lines.push(...record.changes.flatMap(writeChange));
  } else if (record.changetype === 'add') {
    lines.push(...record.attributes.flatMap(writeValues));
  }
  return `${lines.map(foldLine).join('\n')}\n\n`;
}

function writeChange(change: ValueChange): string[] {
  return [`${change.operation}: ${change.attribute}`, ...writeValues(change), '-'];
}

function writeValues({ attribute, values }: AttributeValues): string[] {
  return values.map((value) => writeValue(attribute, value));
}

/**
 * A SAFE-STRING that does not end in a space stands as it is. Control characters could too, but for line ends and
 * NUL; in base64 they cannot do anything to the terminal or the editor of whoever reads the record.
 */
function writeValue(attribute: string, value: string): string {
  if (value === '') return `${attribute}:`;
  const isSafe = /^(?![ :<])[\x20-\x7e]*(?<! )$/.test(value);
  return isSafe ? `${attribute}: ${value}` : `${attribute}:: ${Buffer.from(value).toString('base64')}`;
}

/** RFC 2849, note 2: a line that begins with a space continues the one before. */
function foldLine(line: string): string {
  const rest = line.slice(LONGEST_LINE).match(/.{1,75}/g) ?? [];
  return [line.slice(0, LONGEST_LINE), ...rest].join('\n ');
}

function encodeFilter(filter: Filter): Buffer {
  const writer = new BerWriter();
  new EncodedFilter(filter).write(writer);
  return writer.buffer;
}
