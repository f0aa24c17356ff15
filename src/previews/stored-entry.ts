import type { Filter } from '../ldap/filter/filter-parser.js';
import type { ChangeRecord, ValueChange } from '../ldap/ldif/ldif-record.js';
import type { NamedAs, SourceValues } from '../mirror/map/snapshot.js';
import type { DirectoryMapping } from '../config/model/mapping.js';
import { GROUP_CLASS, PERSON_CLASS } from '../mirror/map/map.js';

/**
 * A class of the shipped schema, and the attributes that an entry can have only with it
 * (ldap/directory.schema).
 */
export interface AuxiliaryClass {
  readonly name: string;
  readonly attributes: readonly string[];
}

export const DIRECTORY_PERSON: AuxiliaryClass = {
  name: PERSON_CLASS,
  attributes: ['schoolYear', 'profilePicture'],
};

/** The class also allows `owner`, which groupOfNames allows anyway. */
export const DIRECTORY_GROUP: AuxiliaryClass = {
  name: GROUP_CLASS,
  attributes: ['displayName', 'mail', 'labeledURI', 'groupAdmin', 'roomNumber'],
};

/**
 * Returns the auxiliary class that groups receive when they need it. Null: new groups of this directory do
 * not have it.
 */
export function auxiliaryClassOfGroups({ classes }: DirectoryMapping['groups']): AuxiliaryClass | null {
  return classes.some((each) => isSame(each, GROUP_CLASS)) ? DIRECTORY_GROUP : null;
}

/** Compares names of attributes and classes, ignoring case (RFC 4512 §2.5). */
export function isSame(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

/** An entry as stored in the mirror, with the values of its fields by name, for a record that changes it. */
export interface OriginalEntry {
  readonly [field: string]: unknown;
  readonly dn: string;
  /** Attribute values beyond those that the API shows. Null: there are none. */
  readonly sourceValues: SourceValues | null;
}

export interface OriginalGroup extends OriginalEntry {
  readonly uuid: string;
  readonly id: string;
  /** Number of values of the member attribute: users, groups, and DNs that name no mirrored entry. */
  readonly memberValues: number;
  /** Number of values of the attribute of owners. Absent: the directory allows any number. */
  readonly ownerValues?: number;
}

/** A group that names an entry, and the attributes by which it does. */
export interface OriginalReference {
  readonly group: OriginalGroup;
  readonly namedAs: NamedAs;
}

/** The record that changes an entry, and the attribute values after the change. */
export interface ChangedEntry {
  readonly record: ChangeRecord;
  readonly sourceValues: SourceValues | null;
}

/** Returns the values of an attribute of an entry. Null: the values are not readable as text. */
export function rawValues(
  { sourceValues }: Pick<OriginalEntry, 'sourceValues'>,
  attribute: string,
  shown: string | null,
): readonly string[] | null {
  const values = sourceValues?.[attribute.toLowerCase()];
  if (values !== undefined) return values;
  return shown === null ? [] : [shown];
}

/**
 * Builds the record that modifies an entry (pure). If the entry lacks the auxiliary class and receives an
 * attribute that requires it, the record adds the class.
 * @param entry with the source values after the changes
 */
export function modifyEntry(
  { dn, sourceValues }: OriginalEntry,
  auxiliaryClass: AuxiliaryClass | null,
  changes: readonly ValueChange[],
  assertion?: Filter,
): ChangedEntry {
  const record = { dn, changetype: 'modify', ...(assertion !== undefined && { assertion }) } as const;
  if (auxiliaryClass === null || !needsClass(sourceValues, auxiliaryClass, changes)) {
    return { record: { ...record, changes }, sourceValues };
  }
  const addClass = { operation: 'add', attribute: 'objectClass', values: [auxiliaryClass.name] } as const;
  return {
    record: { ...record, changes: [addClass, ...changes] },
    sourceValues: withoutClasses(sourceValues),
  };
}

function needsClass(
  sourceValues: SourceValues | null,
  { attributes }: AuxiliaryClass,
  changes: readonly ValueChange[],
): boolean {
  const isMissing = sourceValues?.['objectclass'] !== undefined;
  return (
    isMissing &&
    changes.some(
      ({ operation, attribute }) => operation === 'add' && attributes.some((each) => isSame(each, attribute)),
    )
  );
}

function withoutClasses(sourceValues: SourceValues | null): SourceValues | null {
  const { objectclass, ...others } = sourceValues ?? {};
  return Object.keys(others).length === 0 ? null : others;
}
