import { BadUserInputError, ServiceError } from '../common/errors.js';
import { type Match, prepareValue } from '../common/match.js';
import { type Field, type FieldReader, otherAttributesOf, storedName } from '../common/field.js';
import { attributeKey } from '../ldap/entry.js';
import { foldValue } from '../ldap/naming/case-ignore-match.js';
import { parseDn } from '../ldap/naming/dn.js';
import type { Filter } from '../ldap/filter/filter-parser.js';
import type { ValueChange } from '../ldap/ldif/ldif-record.js';
import { LONGEST_TEXT } from '../mirror/map/entry-reader.js';
import { countOf, isCount, parseValue } from '../mirror/map/parse-value.js';
import { textOfValue } from '../mirror/map/parse-value.js';
import type { RawAttributes } from '../mirror/revision/staged-entry.js';
import { lacksAttribute } from './object-classes.js';
import {
  type AuxiliaryClass,
  classesOf,
  isSame,
  type ChangedEntry,
  modifyEntry,
  type OriginalEntry,
  textsOf,
  DIRECTORY_PERSON,
} from './stored-entry.js';
import type { FieldChanges } from './validate.js';
import type { DirectoryMapping, EntryMapping } from '../config/model/mapping.js';

type TextMapping = Pick<EntryMapping, 'id' | 'hasAssertions'>;

interface TextChange {
  /** The field of the input, for errors. */
  readonly argument: string;
  readonly attribute: string;
  readonly match: Match | undefined;
  /** The attributes from which the value is read without a value of `attribute`. */
  readonly others: readonly string[];
  /** The value that the API shows, as its attribute has it. */
  readonly shown: string | null;
  /** Undefined: the value stays unchanged. Null: the value is removed. */
  readonly wanted: string | null | undefined;
  /**
   * Converts the wanted value into the value to write, given the values before the change. Default: the
   * wanted value itself.
   */
  readonly write?: (wanted: string, before: readonly string[]) => string;
}

/** @param values those of the fields by their stored names */
export function textChangesOf(
  fields: readonly Field[],
  values: Readonly<Record<string, unknown>>,
  change: FieldChanges,
): TextChange[] {
  return fields
    .filter((field) => field.change !== undefined)
    .map((field) => {
      const { name, attribute, match } = field;
      const write = WRITERS[field.reader];
      return {
        argument: name,
        attribute,
        match,
        others: otherAttributesOf(field),
        shown: textOfValue(field, values[storedName(field)]),
        wanted: change[name],
        ...(write && { write }),
      };
    });
}

const WRITERS: Partial<Record<FieldReader, NonNullable<TextChange['write']>>> = {
  website: keepLabel,
  url: keepLabel,
  time: keepForm,
};

/** Writes an instant as a count if the attribute has counts. */
function keepForm(text: string, [before = '']: readonly string[]): string {
  const instant = isCount(before.trim()) ? parseValue({ reader: 'time' }, text) : null;
  return typeof instant === 'string' ? countOf(new Date(instant)) : text;
}

/** Keeps the label that follows the URL (RFC 2079), unless the URL and the label together are too long. */
function keepLabel(url: string, [before = '']: readonly string[]): string {
  const [label = ''] = / .*$/s.exec(before.trim()) ?? [];
  return url.length + label.length <= LONGEST_TEXT ? url + label : url;
}

/**
 * Changes texts of an entry (pure). The record deletes old values explicitly, so that the server rejects a
 * stale record. If there was no value, the record asserts its absence where the server can, because a value
 * that another change added in the meantime would otherwise stay.
 * @throws ServiceError CONFLICT when such a record cannot make the change, BAD_USER_INPUT when all texts
 * already have the wanted values
 */
export function changeTexts(
  entry: OriginalEntry,
  auxiliaryClass: AuxiliaryClass | null,
  texts: readonly TextChange[],
  mapping: TextMapping,
): ChangedEntry {
  const asked = texts.filter(({ wanted, shown }) => wanted !== undefined && wanted !== shown);
  if (asked.length === 0) throw new BadUserInputError('The object has the requested values already', 'input');
  const changed = asked.flatMap((text) => replaceText(entry, text));
  for (const text of asked) checkAttribute(entry, auxiliaryClass, text, mapping);
  const absent = mapping.hasAssertions ? changed.filter((each) => isAssertable(entry, each)) : [];
  return modifyEntry(
    { dn: entry.dn, attributes: attributesAfter(entry, changed) },
    auxiliaryClass,
    changed.flatMap(stepsOf),
    absent.length === 0 ? undefined : assertAbsent(absent.map(({ attribute }) => attribute)),
  );
}

/**
 * @throws ServiceError CONFLICT when the attribute has the id, which the preview would not show, or when no class of the entry
 * has it
 */
function checkAttribute(
  entry: OriginalEntry,
  auxiliaryClass: AuxiliaryClass | null,
  text: TextChange,
  { id }: TextMapping,
): void {
  const { argument, attribute, others, wanted } = text;
  const changed = wanted === null ? [attribute, ...others] : [attribute];
  if (changed.some((each) => isSame(each, id)))
    throw conflict(`${argument} and the id have a common attribute: change it in the directory`, text);
  const isAdded = wanted !== null && textsOf(entry, attribute)?.length === 0;
  if (isAdded && auxiliaryClass === null && lacksAttribute(classesOf(entry), attribute))
    throw conflict(`The classes of the entry have no attribute ${attribute} for ${argument}`, text);
}

/** Where an attribute has values with options, such as a language, the assertion of its absence would always be false. */
function isAssertable({ attributes }: OriginalEntry, { attribute, before, after }: Replacement): boolean {
  const isAdded = before.length === 0 && after.length > 0;
  return isAdded && !Object.keys(attributes).some((key) => key.startsWith(`${attributeKey(attribute)};`));
}

/** The values of an attribute before and after a change. */
interface Replacement {
  readonly attribute: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** A new value goes to the first attribute, which is read first. Without values in the others, it is removed. */
function replaceText(entry: OriginalEntry, text: TextChange): Replacement[] {
  const first = replaceValues(entry, text);
  if (text.wanted !== null) return [first];
  const others = text.others
    .filter((attribute) => textsOf(entry, attribute)?.length !== 0)
    .map((attribute) => replaceValues(entry, { ...text, attribute }));
  const removed = [first, ...others];
  if (removed.some(({ before }) => before.length > 0)) return removed;
  throw conflict(
    `The mirror does not have the attribute of ${text.argument}: remove the value in the directory`,
    text,
  );
}

function replaceValues(entry: OriginalEntry, text: TextChange): Replacement {
  const { argument, attribute } = text;
  const before = textsOf(entry, attribute);
  if (before === null) {
    throw conflict(
      `The directory has a value for ${argument} that is not text: correct it in the directory`,
      text,
    );
  }
  if (isInRdn(entry.dn, attribute)) {
    throw conflict(`${argument} is part of the name of the entry: it takes a rename in the directory`, text);
  }
  return { attribute, before, after: valuesAfter(text, before) };
}

function stepsOf({ attribute, before, after }: Replacement): ValueChange[] {
  return [
    { operation: 'delete' as const, attribute, values: before },
    { operation: 'add' as const, attribute, values: after },
  ].filter(({ values }) => values.length > 0);
}

function attributesAfter({ attributes }: OriginalEntry, changed: readonly Replacement[]): RawAttributes {
  const replaced = changed.map(({ attribute, after }) => [attributeKey(attribute), after] as const);
  return Object.fromEntries(
    Object.entries({ ...attributes, ...Object.fromEntries(replaced) }).filter(
      ([, values]) => values.length > 0,
    ),
  );
}

/** Puts the new value first, because the API shows the first of several values. The other values stay. */
function valuesAfter({ wanted, write, match }: TextChange, before: readonly string[]): string[] {
  if (wanted === null || wanted === undefined) return [];
  const first = write === undefined ? wanted : write(wanted, before);
  // The server compares these values as equal, so that it would reject them as duplicates.
  return [first, ...before.slice(1).filter((value) => keyOf(value, match) !== keyOf(first, match))];
}

/** What the server compares. It regards fewer values as equal than filters do. */
function keyOf(value: string, match: Match | undefined): string {
  if (match === 'caseExact') return prepareValue(value, match);
  return match === 'phone' ? foldValue(value).replace(/[\p{Pd}\u2212\s]/gu, '') : foldValue(value);
}

/**
 * Returns whether the RDN of the entry contains the attribute, which then cannot be deleted (RFC 4511 §4.6).
 */
function isInRdn(dn: string, attribute: string): boolean {
  const [rdn = []] = parseDn(dn);
  return rdn.some(({ type }) => isSame(type, attribute));
}

function assertAbsent(attributes: readonly string[]): Filter {
  const filters = attributes.map((attribute): Filter => ({
    kind: 'not',
    filter: { kind: 'present', attribute },
  }));
  return { kind: 'and', filters };
}

function conflict(message: string, { argument }: TextChange): ServiceError {
  return new ServiceError('CONFLICT', message, { argument });
}

/**
 * Builds the record that changes a user (pure).
 * @throws ServiceError as changeTexts does
 */
export function changePerson(
  person: OriginalEntry,
  values: Readonly<Record<string, unknown>>,
  change: FieldChanges,
  mapping: DirectoryMapping['users'],
): ChangedEntry {
  return changeTexts(person, DIRECTORY_PERSON, textChangesOf(mapping.fields, values, change), mapping);
}
