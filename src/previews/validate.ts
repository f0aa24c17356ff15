import { z } from 'zod';
import { BadUserInputError } from '../common/errors.js';
import { type FieldDefinition, type FieldReader } from '../common/field.js';
import { LONGEST_ID } from '../common/identity.js';
import { faultOfWebsite } from '../common/url.js';
import { LONGEST_CLIENT_MUTATION_ID } from '../graphql/schema/user-errors.js';
import { GROUP_FIELDS } from '../groups/group.fields.js';
import { LONGEST_LABEL, LONGEST_LINE, LONGEST_TEXT } from '../mirror/map/entry-reader.js';
import { Misfit, parseValue } from '../mirror/map/parse-value.js';
import { textOfValue } from '../mirror/map/parse-value.js';
import type { ChangeInput } from './change.model.js';

/**
 * New values of fields as their attributes have them, by name. Undefined: the field stays unchanged. Null: its value is
 * removed.
 */
export type FieldChanges = Readonly<Record<string, string | null | undefined>>;

export interface NewGroup extends Readonly<Record<string, string | null>> {
  readonly id: string;
  readonly name: string;
}

/**
 * A path has at most 256 characters including its brackets, and the part before the `@` at most 64 (RFC 5321
 * §4.5.3.1).
 */
const LONGEST_ADDRESS = 254;
const LONGEST_LOCAL_PART = 64;

type Text = string | null | undefined;
/** Returns the normalized text, or throws BadUserInputError. */
type Check = (text: string, argument: string) => string;

/** Checks by the format of a change, or else by the reader of the field. */
const CHECKS: Readonly<Record<string, Check>> = {
  address,
  label,
  text: paragraphs,
  website,
  url,
  time: ofReader('time'),
  integer: ofReader('integer'),
  number: ofReader('number'),
  boolean: ofReader('boolean'),
};

/**
 * @throws BadUserInputError with the name of the invalid field, or `input` when there is nothing to change
 */
export function validateChange(input: object, fields: readonly FieldDefinition[]): FieldChanges {
  return withSomething(validateFields(input, fields));
}

/** @throws BadUserInputError with the name of the invalid field */
export function validateNewGroup(
  input: { readonly id: string; readonly [field: string]: unknown },
  fields: readonly FieldDefinition[] = GROUP_FIELDS,
): NewGroup {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(input.id)) {
    throw new BadUserInputError(
      'id must be ASCII letters, digits, dots, hyphens and underscores, and begin with a letter or a digit',
      'id',
    );
  }
  const id = bounded(input.id, 'id', LONGEST_ID);
  const values = Object.entries(validateFields(input, fields)).map(([name, value]) => [name, value ?? null]);
  return { name: '', ...(Object.fromEntries(values) as Record<string, string | null>), id };
}

function validateFields(input: object, fields: readonly FieldDefinition[]): FieldChanges {
  const given = input as Readonly<Record<string, unknown>>;
  const checked = fields.flatMap((field): [string, Text][] => {
    const { name, reader, change } = field;
    if (change === undefined) return [];
    const check = CHECKS[change.format ?? reader] ?? line;
    const text = given[name] === undefined ? undefined : textOfValue(field, given[name]);
    return [[name, (change.isRemovable ? optional : mandatory)(text, name, check)]];
  });
  return Object.fromEntries(checked);
}

/** @throws BadUserInputError when it is too long */
export function validateClientMutationId({ clientMutationId }: ChangeInput): string | null {
  const id = clientMutationId ?? null;
  return id === null ? null : bounded(id, 'clientMutationId', LONGEST_CLIENT_MUTATION_ID);
}

function withSomething(change: FieldChanges): FieldChanges {
  if (Object.values(change).every((each) => each === undefined)) {
    throw new BadUserInputError('The input contains no changes', 'input');
  }
  return change;
}

/**
 * An attribute has a non-empty value or does not exist, because the syntaxes of LDAP have no empty text (RFC
 * 4517 §3.3.6).
 */
function optional(text: Text, argument: string, check: Check): Text {
  if (text === undefined || text === null) return text;
  const checked = check(text, argument);
  return checked === '' ? null : checked;
}

function mandatory(text: Text, argument: string, check: Check): string | undefined {
  const checked = optional(text, argument, check);
  if (checked === null) throw new BadUserInputError(`${argument} cannot be empty`, argument);
  return checked;
}

function line(text: string, argument: string): string {
  return trimmed(text, argument, LONGEST_LINE);
}

function label(text: string, argument: string): string {
  return trimmed(text, argument, LONGEST_LABEL);
}

function paragraphs(text: string, argument: string): string {
  return trimmed(text, argument, LONGEST_TEXT, /[^\P{Cc}\n\t]/u);
}

/**
 * Accepts an address as a browser's input field does (HTML, valid e-mail address). `mail` is IA5, which is
 * ASCII.
 */
function address(text: string, argument: string): string {
  const value = trimmed(text, argument, LONGEST_ADDRESS);
  if (value === '') return value;
  const isAddress = z.regexes.html5Email.test(value) && value.indexOf('@') <= LONGEST_LOCAL_PART;
  if (!isAddress) throw new BadUserInputError(`${argument} must be one e-mail address, in ASCII`, argument);
  return value;
}

/** Rejects spaces, because a space in labeledURI starts a label that is not part of the URL (RFC 2079). */
function website(text: string, argument: string): string {
  const value = trimmed(text, argument, LONGEST_TEXT);
  if (value === '') return value;
  const fault = faultOfWebsite(value);
  if (fault !== null) {
    const wanted = 'must be an http or https URL without spaces, quotes, markup or user information';
    throw new BadUserInputError(`${argument} ${wanted}: it ${fault}`, argument);
  }
  return value;
}

/** The schema has parsed it as a URL, of any scheme. */
function url(text: string, argument: string): string {
  return ofReader('url')(trimmed(text, argument, LONGEST_TEXT), argument);
}

/** Returns the check that the mirror would show a text. */
function ofReader(reader: FieldReader): Check {
  return (text, argument) => {
    parsed({ reader }, text, argument);
    return text;
  };
}

function parsed(field: Pick<FieldDefinition, 'reader'>, text: string, argument: string): unknown {
  const value = parseValue(field, text);
  if (value instanceof Misfit) throw new BadUserInputError(`${argument} ${value.reason}`, argument);
  return value;
}

/**
 * More marks on one letter than any writing system has (UAX #15 §13). Normalization takes time quadratic in
 * their number.
 */
const TOO_MANY_MARKS = /\p{M}{31}/u;

/**
 * Removes surrounding white space, which the mirror does not show either. Checks the length before anything
 * else.
 */
function trimmed(text: string, argument: string, longest: number, refused = /\p{Cc}/u): string {
  const value = bounded(text.trim(), argument, longest);
  if (TOO_MANY_MARKS.test(value))
    throw new BadUserInputError(`${argument} has more than 30 combining marks in a row`, argument);
  if (!value.isWellFormed()) throw new BadUserInputError(`${argument} is not well-formed Unicode`, argument);
  if (refused.test(value)) throw new BadUserInputError(`${argument} has a control character`, argument);
  return value;
}

function bounded(value: string, argument: string, longest: number): string {
  if (value.length <= longest) return value;
  throw new BadUserInputError(`${argument} has more than ${longest} characters`, argument);
}
