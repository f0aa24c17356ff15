import type { ChangeRecord } from '../ldap/ldif/ldif-record.js';
import type { NamedAs, SourceValues } from '../mirror/map/snapshot.js';

/** What the mirror knows of an entry, for a record that changes it. */
export interface StoredEntry {
  readonly dn: string;
  /** What its attributes hold beyond what is shown; null: nothing. */
  readonly sourceValues: SourceValues | null;
}

export interface StoredPerson extends StoredEntry {
  readonly name: string;
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly email: string | null;
  readonly schoolYear: string | null;
}

export interface StoredGroup extends StoredEntry {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly website: string | null;
  readonly email: string | null;
  /** Values of the attribute that names the members: people, groups, and DNs of which nobody is known. */
  readonly memberValues: number;
}

/** A group that names an entry, and by which attributes. */
export interface StoredReference {
  readonly group: StoredGroup;
  readonly namedAs: NamedAs;
}

/** An entry that is changed: the record that does it, and what the attributes hold afterwards. */
export interface ChangedEntry {
  readonly record: ChangeRecord;
  readonly sourceValues: SourceValues | null;
}

/** The values that an attribute of an entry holds; null: they are not readable as text. */
export function rawValues(
  { sourceValues }: StoredEntry,
  attribute: string,
  shown: string | null,
): readonly string[] | null {
  const values = sourceValues?.[attribute.toLowerCase()];
  if (values !== undefined) return values;
  return shown === null ? [] : [shown];
}
