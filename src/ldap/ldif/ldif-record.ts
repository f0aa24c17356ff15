import { encodeFilter, type Filter } from '../filter/filter.js';

/** An attribute description (RFC 4512 §2.5), spelled as in the configuration, and values. */
export interface AttributeValues {
  readonly attribute: string;
  readonly values: readonly string[];
}

/** One step of a modification: values that are added to an attribute, or deleted from it. */
export interface ValueChange extends AttributeValues {
  readonly operation: 'add' | 'delete';
}

export type ChangeRecord = { readonly dn: string; readonly assertion?: Filter } & (
  | { readonly changetype: 'modify'; readonly changes: readonly ValueChange[] }
  | { readonly changetype: 'add'; readonly attributes: readonly AttributeValues[] }
  | { readonly changetype: 'delete' }
);

/** The server applies the change only if the entry matches a filter (RFC 4528). */
const ASSERTION_CONTROL = '1.3.6.1.1.12';
const LONGEST_LINE = 76;

/** Writes change records (RFC 2849), to be applied in this order. A blank line ends them, so that outputs can be concatenated. */
export function writeLdif(records: readonly ChangeRecord[]): string {
  return `version: 1\n${records.map(writeRecord).join('')}`;
}

function writeRecord(record: ChangeRecord): string {
  const lines = [writeValue('dn', record.dn)];
  if (record.assertion !== undefined)
    lines.push(`control: ${ASSERTION_CONTROL} true:: ${encodeFilter(record.assertion).toString('base64')}`);
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
 * A SAFE-STRING that does not end in a space is written unchanged, unless it contains control characters,
 * which could affect the terminal of the reader.
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
