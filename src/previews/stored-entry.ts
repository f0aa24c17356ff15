import type { ChangeRecord } from '../ldap/ldif/ldif-record.js';
import type { NamedAs, SourceValues } from '../mirror/map/snapshot.js';

/** An entry as stored in the mirror, with the values of its fields by name, for a record that changes it. */
export interface OriginalEntry {
  readonly [field: string]: unknown;
  readonly dn: string;
  /** Attribute values beyond those that the API shows. Null: there are none. */
  readonly sourceValues: SourceValues | null;
}

export interface OriginalGroup extends OriginalEntry {
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
