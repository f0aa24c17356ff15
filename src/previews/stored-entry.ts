import type { Filter } from '../ldap/filter/filter-parser.js';
import type { ChangeRecord, ValueChange } from '../ldap/ldif/ldif-record.js';
import { attributeKey } from '../ldap/entry.js';
import type { RawAttributes } from '../mirror/revision/staged-entry.js';
import type { NamedAs } from '../mirror/map/named-by.js';
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

/** An entry of the mirror, for a record that changes it. */
export interface OriginalEntry {
  readonly dn: string;
  readonly attributes: RawAttributes;
}

export interface OriginalGroup extends OriginalEntry {
  readonly uuid: string;
  readonly id: string;
  /** Number of values of the member attributes of the form that its class requires, up to two: users, groups, and DNs that name no mirrored entry. */
  readonly memberValues: number;
  /** Number of values of the attribute of owners. Absent: the directory allows any number. */
  readonly ownerValues?: number;
}

/** A group that names an entry, and the attributes by which it does. */
export interface OriginalReference {
  readonly group: OriginalGroup;
  readonly namedAs: NamedAs;
}

/** The record that changes an entry, and the attributes after the change. */
export interface ChangedEntry {
  readonly record: ChangeRecord;
  readonly attributes: RawAttributes;
}

/** Returns the values of an attribute of an entry. Null: one of them is not text. */
export function textsOf({ attributes }: OriginalEntry, attribute: string): readonly string[] | null {
  const values = attributes[attributeKey(attribute)] ?? [];
  return values.every((value) => typeof value === 'string') ? values : null;
}

/** The object classes of an entry. */
export function classesOf(entry: OriginalEntry): readonly string[] {
  return textsOf(entry, 'objectClass') ?? [];
}

/**
 * Builds the record that modifies an entry (pure). If the entry lacks the auxiliary class and receives an
 * attribute that requires it, the record adds the class.
 * @param entry with the attributes after the changes
 */
export function modifyEntry(
  entry: OriginalEntry,
  auxiliaryClass: AuxiliaryClass | null,
  changes: readonly ValueChange[],
  assertion?: Filter,
): ChangedEntry {
  const { dn, attributes } = entry;
  const record = { dn, changetype: 'modify', ...(assertion !== undefined && { assertion }) } as const;
  const classes = classesOf(entry);
  if (auxiliaryClass === null || !needsClass(classes, auxiliaryClass, changes))
    return { record: { ...record, changes }, attributes };
  const addClass = { operation: 'add', attribute: 'objectClass', values: [auxiliaryClass.name] } as const;
  return {
    record: { ...record, changes: [addClass, ...changes] },
    attributes: { ...attributes, objectclass: [...classes, auxiliaryClass.name] },
  };
}

function needsClass(
  classes: readonly string[],
  { name, attributes }: AuxiliaryClass,
  changes: readonly ValueChange[],
): boolean {
  const isMissing = !classes.some((each) => isSame(each, name));
  return (
    isMissing &&
    changes.some(
      ({ operation, attribute }) => operation === 'add' && attributes.some((each) => isSame(each, attribute)),
    )
  );
}
