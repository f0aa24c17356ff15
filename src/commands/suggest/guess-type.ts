import type { FieldReader } from '../../common/field.js';
import type { ValueType } from '../../config/model/model.schema.js';
import { InvalidDnError, isBelow, parseDn } from '../../ldap/naming/dn.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import { Misfit, parseValue } from '../../mirror/map/entry-reader.js';
import type { Evidence, FoundAttribute } from './evidence.js';

/** A type, its reader, and the form of values that are of the type and not of a text that looks like it. */
const TYPES: readonly (readonly [ValueType, FieldReader, RegExp])[] = [
  ['Boolean', 'boolean', /^(?:TRUE|FALSE)$/],
  ['Int', 'integer', /^(?:0|-?[1-9]\d*)$/],
  // The counts of Active Directory are of the years 1917 to 2234, or mean that there is no time.
  ['DateTime', 'time', /^(?:\d{10,14}(?:[.,]\d+)?(?:Z|[+-]\d{2,4})|0|9223372036854775807|1\d{17})$/],
  ['Float', 'number', /^-?(?:0|[1-9]\d*)\.\d+$/],
  ['URL', 'url', /^[a-z][a-z0-9+.-]*:\/\/\S/i],
];

/** Attributes whose values consist of digits and are no numbers. */
const DIGITS = /phone|mobile|pager|fax|facsimile|postal|zip|isdn|x121|barcode|cardnumber|serial/;
/** Telephone Number and Numeric String (RFC 4517 §3.3.31, §3.3.23). */
const TEXT_SYNTAXES: readonly (string | null | undefined)[] = [
  '1.3.6.1.4.1.1466.115.121.1.50',
  '1.3.6.1.4.1.1466.115.121.1.36',
];

/** The share of the sampled values that name users, or groups, in an attribute of references. */
const MOSTLY = 0.8;

/** Guesses the type of one value by all sampled values (pure). */
export function guessType(found: FoundAttribute, evidence: Evidence): ValueType {
  const values = found.values ?? [];
  const reference = guessReference(values, evidence);
  if (reference !== null) return reference;
  if (DIGITS.test(found.key) || TEXT_SYNTAXES.includes(found.type?.syntax)) return 'String';
  const fitting = TYPES.find(([, reader, form]) =>
    values.every((value) => form.test(value) && !(parseValue({ reader }, value) instanceof Misfit)),
  );
  return fitting?.[0] ?? 'String';
}

function guessReference(values: readonly string[], { targets, baseDn }: Evidence): 'User' | 'Group' | null {
  const named = values.filter((value) => isDnBelow(value, baseDn));
  if (named.length === 0 || named.length < values.length * MOSTLY) return null;
  const kinds = named.slice(0, MOST_TARGETS).map((value) => targets.get(keyOfDn(value)));
  const share = (kind: string) => kinds.filter((each) => each === kind).length / kinds.length;
  if (share('person') >= MOSTLY) return 'User';
  return share('group') >= MOSTLY ? 'Group' : null;
}

/** The number of values of an attribute whose targets are read. */
export const MOST_TARGETS = 20;

/** Whether a text is the DN of an entry below the base DN. */
export function isDnBelow(text: string, baseDn: string): boolean {
  if (!text.includes('=')) return false;
  try {
    return parseDn(text).length > parseDn(baseDn).length && isBelow(text, baseDn);
  } catch (error) {
    if (error instanceof InvalidDnError) return false;
    throw error;
  }
}
