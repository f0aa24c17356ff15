import { z } from 'zod';
import { BadUserInputError } from '../common/errors.js';
import type { FieldDefinition } from '../common/field.js';
import { LONGEST_ID } from '../common/identity.js';
import { faultOfWebsite } from '../common/url.js';
import {
  LONGEST_LABEL,
  LONGEST_LINE,
  LONGEST_TEXT,
  Misfit,
  parseValue,
  textOfValue,
} from '../mirror/map/entry-reader.js';

/** New values of fields as their attributes have them, by name. Undefined: the field stays unchanged. Null: its value is removed. */
export type FieldChanges = Readonly<Record<string, string | null | undefined>>;

export type NewGroup = FieldChanges & { readonly id: string };

/** The part of an address before the `@` (RFC 5321 §4.5.3.1). A path has at most 256 characters including its brackets. */
const LONGEST_LOCAL_PART = 64;

/** The maximum length and a description of valid values, by the format of a change, or else the reader of the field. */
type Format = readonly [longest: number, description: string];
const FORMATS: Readonly<Record<string, Format>> = {
  address: [254, 'one address in ASCII, up to 254 characters'],
  boolean: [LONGEST_LINE, 'true or false'],
  integer: [LONGEST_LINE, 'a whole number of 32 bits'],
  number: [LONGEST_LINE, 'a finite number'],
  time: [LONGEST_LINE, 'an instant in the years 1 to 9999'],
  url: [LONGEST_TEXT, 'an absolute URL, up to 10,000 characters'],
  label: [LONGEST_LABEL, 'up to 64 characters'],
  text: [LONGEST_TEXT, 'up to 10,000 characters, which may include line feeds and tabs'],
  website: [
    LONGEST_TEXT,
    'an http or https URL without user information, spaces, quotes or markup, up to 10,000 characters',
  ],
};

export function formatOf({ reader, change }: FieldDefinition): Format {
  return FORMATS[change?.format ?? reader] ?? [LONGEST_LINE, 'up to 512 characters'];
}

/** @throws BadUserInputError with the name of the invalid field, or `input` when there is nothing to change */
export function validateChange(input: object, fields: readonly FieldDefinition[]): FieldChanges {
  const given = input as Readonly<Record<string, unknown>>;
  const changes = fields
    .filter(({ name, change }) => change !== undefined && given[name] !== undefined)
    .map((field) => [field.name, validateValue(field, textOfValue(field, given[field.name]))] as const);
  if (changes.length === 0) throw new BadUserInputError('The input contains no changes', 'input');
  return Object.fromEntries(changes);
}

/** @throws BadUserInputError with the name of the invalid field */
export function validateNewGroup(
  input: Readonly<Record<string, unknown>> & { readonly id: string },
  fields: readonly FieldDefinition[],
): NewGroup {
  const { id } = input;
  if (id.length > LONGEST_ID || !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id))
    throw new BadUserInputError(
      'id must be 1 to 256 ASCII letters, digits, dots, hyphens and underscores, and begin with a letter or a digit',
      'id',
    );
  return { ...validateChange(input, fields), id };
}

/** An attribute has a value or does not exist, because the syntaxes of LDAP have no empty text (RFC 4517 §3.3.6). */
function validateValue(field: FieldDefinition, text: string | null): string | null {
  const { name, change } = field;
  const value = text?.trim() ?? '';
  const fault = faultOf(field, value);
  if (fault !== null) throw new BadUserInputError(`${name} ${fault}`, name);
  if (value === '' && change?.isRemovable !== true)
    throw new BadUserInputError(`${name} cannot be empty`, name);
  return value === '' ? null : value;
}

/** More marks on one letter than any writing system has (UAX #15 §13). Normalization takes time quadratic in their number. */
const TOO_MANY_MARKS = /\p{M}{31}/u;

/** Why the mirror would not show a value as it is. The length and the marks are checked before anything else. */
function faultOf(field: FieldDefinition, value: string): string | null {
  const { reader, change } = field;
  const [longest] = formatOf(field);
  if (value.length > longest) return `has more than ${longest} characters`;
  if (TOO_MANY_MARKS.test(value)) return 'has more than 30 combining marks in a row';
  if (!value.isWellFormed()) return 'is not well-formed Unicode';
  if ((reader === 'text' ? /[^\P{Cc}\n\t]/u : /\p{Cc}/u).test(value)) return 'has a control character';
  if (value === '') return null;
  if (change?.format === 'address') {
    // As a browser's input field (HTML, valid e-mail address). `mail` is IA5, which is ASCII.
    const isValid = z.regexes.html5Email.test(value) && value.indexOf('@') <= LONGEST_LOCAL_PART;
    return isValid ? null : 'must be one e-mail address, in ASCII';
  }
  // A space in labeledURI starts a label that is not part of the URL (RFC 2079).
  if (reader === 'website') return faultOfWebsite(value);
  const parsed = parseValue(field, value);
  return parsed instanceof Misfit ? parsed.reason : null;
}
