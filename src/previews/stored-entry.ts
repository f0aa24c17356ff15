import type { Filter } from '../ldap/filter/filter-parser.js';
import type { ChangeRecord, ValueChange } from '../ldap/ldif/ldif-record.js';
import type { NamedAs, SourceValues } from '../mirror/map/snapshot.js';
import { type AuxiliaryClass, isSame } from './auxiliary-class.js';

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
