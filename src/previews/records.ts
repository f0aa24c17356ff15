import { hasScopes } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { BadUserInputError, ServiceError } from '../common/errors.js';
import { type Field, storedName } from '../common/field.js';
import { type Match, prepareValue } from '../common/match.js';
import { type DirectoryMapping, mappingOf } from '../config/model/mapping.js';
import type { GroupRole } from '../groups/group.model.js';
import { attributeKey, Entry } from '../ldap/entry.js';
import type { AttributeValues, ChangeRecord, ValueChange } from '../ldap/ldif/ldif-record.js';
import { foldValue, parseDn } from '../ldap/naming/dn.js';
import { identityValues } from '../ldap/naming/identifiers.js';
import { countOf, isCount, LONGEST_TEXT, parseValue, textOfValue } from '../mirror/map/entry-reader.js';
import { GROUP_CLASS, mapGroup, mapPerson, PERSON_CLASS } from '../mirror/map/map.js';
import { bytesOfRaw, type RawAttributes } from '../mirror/revision/staged-entry.js';
import type { EntryKind } from '../sources/directory.js';
import type { PreviewedChange } from './mutations.model.js';
import type { FieldChanges } from './values.js';

/** An entry of the mirror, with its attributes as the directory has them. Those of members are not among them. */
export interface MirroredEntry {
  readonly kind: EntryKind;
  /** 0: it is new. */
  readonly key: number;
  readonly uuid: string;
  readonly id: string;
  readonly dn: string;
  readonly attributes: RawAttributes;
  /** The columns of its audiences, which no preview changes. Absent: it is new. */
  readonly audiences?: Readonly<Record<string, number>>;
}

/** What the record of a change needs of an entry. */
type Stored = Pick<MirroredEntry, 'kind' | 'uuid' | 'dn' | 'attributes'>;

/** The values of attributes after a change. */
type Wanted = readonly AttributeValues[];

/** The record that changes an entry, and the attributes after the change. */
export interface ChangedEntry {
  readonly record: ChangeRecord;
  readonly attributes: RawAttributes;
}

/** The entry as it would be read from the directory. The digest of a picture stands for its bytes. */
export function toEntry({ kind, uuid, dn, attributes }: Stored, mapping: DirectoryMapping): Entry {
  const { uuid: attribute } = mappingOf(mapping, kind);
  return new Entry(dn, [
    ...Object.entries(attributes).map(([key, values]) => [key, values.map(bytesOfRaw)] as const),
    [attribute, identityValues(uuid, attribute).slice(0, 1)] as const,
  ]);
}

/** The values of the fields of an entry by their stored names. Null: there is no entry. */
type FieldValues = Readonly<Record<string, unknown>> | null;

/** What the mirror makes of the attributes of an entry. */
export function valuesOf(entry: Stored, mapping: DirectoryMapping): FieldValues {
  const read = toEntry(entry, mapping);
  return (entry.kind === 'person' ? mapPerson(read, mapping.users) : mapGroup(read, mapping.groups)).value;
}

/** Compares names of attributes and classes, ignoring case (RFC 4512 §2.5). */
export function isSame(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

export function conflict(message: string, argument?: string): ServiceError {
  return new ServiceError('CONFLICT', message, argument === undefined ? {} : { argument });
}

/** The classes of the shipped schema, and the attributes that an entry can have only with them (ldap/directory.schema). */
const AUXILIARY_CLASSES = {
  person: { name: PERSON_CLASS, attributes: ['schoolYear', 'profilePicture'] },
  // The class also allows `owner`, which groupOfNames allows anyway.
  group: { name: GROUP_CLASS, attributes: ['displayName', 'mail', 'labeledURI', 'groupAdmin', 'roomNumber'] },
} as const;

/** The class that an entry receives when it needs it. Null: new groups of this directory do not have it. */
function auxiliaryClassOf(kind: EntryKind, { groups }: DirectoryMapping) {
  const auxiliary = AUXILIARY_CLASSES[kind];
  return kind === 'person' || groups.classes.some((each) => isSame(each, auxiliary.name)) ? auxiliary : null;
}

/** Classes of groups in RFC 4519, RFC 2307, 389 Directory Server and FreeIPA. */
const STANDARD_CLASS =
  /^(top|groupOf(Unique)?Names|posixGroup|nsMemberOf|nestedGroup|ipaUserGroup|ipaObject)$/i;
/** Attributes of built-in fields that none of the standard classes of groups has. */
const ABSENT_ATTRIBUTE = /^(displayName|mail|labeledURI)$/i;

export function areStandard(classes: readonly string[]): boolean {
  return classes.length > 0 && classes.every((each) => STANDARD_CLASS.test(each));
}

/** Whether an entry with these classes cannot have the attribute, as far as the classes are known. */
export function lacksAttribute(classes: readonly string[], attribute: string): boolean {
  return areStandard(classes) && ABSENT_ATTRIBUTE.test(attribute);
}

/** The values of an attribute. Null: one of them is not text. */
function textsOf({ attributes }: Pick<MirroredEntry, 'attributes'>, attribute: string) {
  const values = attributes[attributeKey(attribute)] ?? [];
  return values.every((value) => typeof value === 'string') ? values : null;
}

export function classesOf(entry: Pick<MirroredEntry, 'attributes'>): readonly string[] {
  return textsOf(entry, 'objectClass') ?? [];
}

/** Gives attributes other values (pure). The record deletes old ones by name, so that the server rejects it if it is stale. */
export function changeValues(entry: Stored, wanted: Wanted, mapping: DirectoryMapping): ChangedEntry {
  const stepsOf = (given: Wanted) =>
    given.flatMap(({ attribute, values }) =>
      differenceOf(attribute, textsOf(entry, attribute) ?? [], values),
    );
  const classes = classesOf(entry);
  const auxiliary = auxiliaryClassOf(entry.kind, mapping);
  const isMissing = auxiliary !== null && !classes.some((each) => isSame(each, auxiliary.name));
  const needing = stepsOf(wanted).filter(
    ({ operation, attribute }) =>
      operation === 'add' && auxiliary?.attributes.some((each) => isSame(each, attribute)),
  );
  const isAdded = isMissing && needing.length > 0;
  const added = isAdded ? [{ attribute: 'objectClass', values: [...classes, auxiliary.name] }] : [];
  const all = [...added, ...wanted];
  const attributes = Object.entries({ ...entry.attributes, ...rawOf(all) });
  return {
    record: { dn: entry.dn, changetype: 'modify', changes: stepsOf(all) },
    attributes: Object.fromEntries(attributes.filter(([, values]) => values.length > 0)),
  };
}

export function rawOf(values: Wanted): RawAttributes {
  return Object.fromEntries(values.map((each) => [attributeKey(each.attribute), each.values]));
}

/** Values at the front that stay are not in the record. */
function differenceOf(attribute: string, before: readonly string[], after: readonly string[]): ValueChange[] {
  const first = before.findIndex((value, index) => value !== after[index]);
  const kept = first === -1 ? before.length : first;
  return [
    { operation: 'delete' as const, attribute, values: before.slice(kept) },
    { operation: 'add' as const, attribute, values: after.slice(kept) },
  ].filter(({ values }) => values.length > 0);
}

/**
 * Changes fields of an entry (pure). If an attribute had no value, the record asserts its absence where the server can, because a
 * value that another change added in the meantime would otherwise stay.
 * @throws ServiceError CONFLICT, BAD_USER_INPUT
 */
export function changeFields(entry: Stored, change: FieldChanges, mapping: DirectoryMapping): ChangedEntry {
  const { fields, hasAssertions } = mappingOf(mapping, entry.kind);
  const shown = valuesOf(entry, mapping);
  const changed = fields.filter((field) => {
    const wanted = field.change === undefined ? undefined : change[field.name];
    return wanted !== undefined && wanted !== textOfValue(field, shown?.[storedName(field)]);
  });
  if (changed.length === 0)
    throw new BadUserInputError('The object has the requested values already', 'input');
  const wanted = changed.flatMap((field) => wantedValues(entry, field, change[field.name] ?? null, mapping));
  const { record, attributes } = changeValues(entry, wanted, mapping);
  // Where an attribute has values with options, such as a language, the assertion of its absence would always be false.
  const absent = wanted.filter(
    ({ attribute }) =>
      textsOf(entry, attribute)?.length === 0 &&
      !Object.keys(entry.attributes).some((key) => key.startsWith(`${attributeKey(attribute)};`)),
  );
  if (hasAssertions !== true || absent.length === 0) return { record, attributes };
  const filters = absent.map(
    ({ attribute }) => ({ kind: 'not', filter: { kind: 'present', attribute } }) as const,
  );
  return { record: { ...record, assertion: { kind: 'and', filters } }, attributes };
}

/** A new value goes to the first attribute, which is read first. If it is removed, the values of the others would be shown. */
function wantedValues(entry: Stored, field: Field, wanted: string | null, mapping: DirectoryMapping) {
  const { name, attribute, attributes, match } = field;
  const others = wanted === null ? attributes.slice(1).filter((each) => !isSame(each, attribute)) : [];
  const changed = [attribute, ...others].filter(
    (each) => wanted !== null || textsOf(entry, each)?.length !== 0,
  );
  const [rdn = []] = parseDn(entry.dn);
  const refused = (message: string) => conflict(message, name);
  return changed.map((each) => {
    const before = textsOf(entry, each);
    if (before === null)
      throw refused(`The directory has a value for ${name} that is not text: correct it in the directory`);
    // The RDN cannot be changed by a modification (RFC 4511 §4.6).
    if (rdn.some(({ type }) => isSame(type, each)))
      throw refused(`${name} is part of the name of the entry: it takes a rename in the directory`);
    if (isSame(each, mappingOf(mapping, entry.kind).id))
      throw refused(`${name} and the id have a common attribute: change it in the directory`);
    if (wanted === null) return { attribute: each, values: [] };
    const isAbsent = before.length === 0 && auxiliaryClassOf(entry.kind, mapping) === null;
    if (isAbsent && lacksAttribute(classesOf(entry), each))
      throw refused(`The classes of the entry have no attribute ${each} for ${name}`);
    const first = writtenValue(field, wanted, before);
    // The API shows the first of several values; the others stay. The server would reject those that it regards as equal.
    const kept = before.slice(1).filter((value) => comparedKey(value, match) !== comparedKey(first, match));
    return { attribute: each, values: [first, ...kept] };
  });
}

/** Writes an instant as a count if the attribute has counts, and keeps the label that follows a URL (RFC 2079) if they fit. */
function writtenValue({ reader }: Field, text: string, [former = '']: readonly string[]): string {
  const before = former.trim();
  if (reader === 'time') {
    const instant = isCount(before) ? parseValue({ reader }, text) : null;
    return typeof instant === 'string' ? countOf(new Date(instant)) : text;
  }
  const [label = ''] = reader === 'website' || reader === 'url' ? (/ .*$/s.exec(before) ?? []) : [];
  return text.length + label.length <= LONGEST_TEXT ? text + label : text;
}

/** What the server compares. It regards fewer values as equal than filters do. */
function comparedKey(value: string, match: Match | undefined): string {
  if (match === 'caseExact') return prepareValue(value, match);
  return match === 'phone' ? foldValue(value).replace(/[\p{Pd}\u2212\s]/gu, '') : foldValue(value);
}

/**
 * The differences between an entry before and after a change (pure): of its id, of the fields that previews can change, and of
 * those that share an attribute with them. Fields that the token cannot read, or that only some viewers see, are left out.
 */
export function changesOfFields(
  object: string,
  fields: readonly Field[],
  before: FieldValues,
  after: FieldValues,
  principal: Principal,
): PreviewedChange[] {
  const isKept = before !== null && after !== null;
  return fields.flatMap((field) => {
    const { name, change, scopes = [], visibleTo, reader, reference } = field;
    const isChangeable = name === 'id' || change !== undefined;
    // What a reference names may be hidden.
    const canShare = isKept && reference === undefined && reader !== 'picture' && reader !== 'none';
    const isReadable = visibleTo === undefined && hasScopes(principal, scopes);
    if (!isReadable || !(isChangeable || canShare)) return [];
    const valueIn = (values: FieldValues) => textOf(values?.[storedName(field)]);
    return changesOfValue([object, name], valueIn(before), valueIn(after));
  });
}

/** The change of a value; none if it stays the same. */
export function changesOfValue(path: string[], before: string | null, after: string | null) {
  return before === after ? [] : [{ path, before, after }];
}

/** The roles of a user in a group. Null: the user does not belong to it. */
type Roles = Readonly<Record<'direct' | 'value', GroupRole | null>> | null;

export function changesOfRoles(before: Roles, after: Roles): PreviewedChange[] {
  return (['direct', 'value'] as const).flatMap((name) =>
    changesOfValue(['membership', 'role', name], before?.[name] ?? null, after?.[name] ?? null),
  );
}

/** A value as responses have it, as text. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return null;
  return typeof value === 'string' ? value : JSON.stringify(value).replace(/^"(.*)"$/, '$1');
}
