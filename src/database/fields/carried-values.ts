import { type Field, isList, storedName } from '../../common/field.js';
import { FIELD_VALUES } from './field-columns.js';

/** Column of memberships with the values of custom fields of the user. */
const CARRIED = `user_${FIELD_VALUES}`;

/** SQL for the values of custom fields of the user of a membership `m`: carried, or read from the user. */
export const CARRIED_VALUES = `coalesce(m.${CARRIED}, (
    select carried.${FIELD_VALUES}::json from users carried where carried.key = m.user_key))`;

/** SQL by column for memberships that are written, of users `u`. */
export function writtenValues(fields: readonly Field[]): Record<string, string> {
  return fields.some(({ column }) => column === null)
    ? { [CARRIED]: `carried_values(u.${FIELD_VALUES})` }
    : {};
}

/** Reads the value of one field from CARRIED_VALUES. */
export interface CarriedValue {
  readonly property: string;
  readonly name: string;
  readonly read: (value: unknown) => unknown;
}

/** The fields that are read this way. Those with an audience are not: a condition of SQL withholds their values. */
export function carriedValues(fields: readonly Field[]): CarriedValue[] {
  return fields
    .filter(
      ({ column, reader, visibleTo }) => column === null && reader !== 'reference' && visibleTo === undefined,
    )
    .map((field) => ({ property: field.name, name: storedName(field), read: readerOf(field) }));
}

const INSTANT = /^.{4}-.{2}-.{2}T.{2}:.{2}:.{2}\..{3}Z$/;

/** The same as the SQL of sqlOfField: a value that the field had with another type is none. */
function readerOf(field: Field): CarriedValue['read'] {
  if (isList(field)) return (value) => (isListOf(field, value) ? value : []);
  switch (field.reader) {
    case 'integer':
    case 'number':
      return (value) => value ?? null;
    case 'boolean':
      return (value) => {
        const text = textOf(value);
        return text === 'true' ? true : text === 'false' ? false : null;
      };
    case 'time':
      return (value) => (typeof value === 'string' && INSTANT.test(value) ? value : null);
    default:
      return textOf;
  }
}

function isListOf({ reader }: Field, value: unknown): boolean {
  return reader === 'lines' ? Array.isArray(value) : (value ?? null) !== null;
}

/** The text of a member, like the operator `->>`. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return (value ?? null) === null ? null : JSON.stringify(value);
}
