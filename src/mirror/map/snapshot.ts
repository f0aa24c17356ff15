import type { AudienceLevel } from '../../config/settings/visibility.js';
import type { EntryKind } from '../../sources/source.js';
import type { NamedAs } from './named-by.js';

/** The values that people and groups have in common, and by name the values of all other fields. */
interface MappedEntry {
  readonly [field: string]: unknown;
  readonly uuid: string;
  readonly dn: string;
  /** Identifies the DN: see keyOfDn. */
  readonly dnKey: string;
  readonly id: string;
  readonly name: string;
  /** The time at which the entry was created, if the directory provides it. */
  readonly createdAt: Date | null;
  /** The audience of the entry. Null: everyone. */
  readonly visibleTo?: AudienceLevel | null;
}

/** A person, mapped from one entry. A picture is its SHA-256; its bytes are already in the picture store. */
export type MappedPerson = MappedEntry;

export interface MappedGroup extends MappedEntry {
  /** The audience of its members. Null: everyone who may see the group. */
  readonly membersVisibleTo?: AudienceLevel | null;
  /** The attributes in which the group names each entry, by referenceKeyOf, whether or not the entry exists. */
  readonly references: ReadonlyMap<string, NamedAs>;
}

/** An entry, or one attribute of it, that was omitted, and the reason. The run continues without it. */
export interface Quarantined {
  readonly kind: EntryKind;
  readonly dn: string;
  /** Null if the entry has no usable entryUUID. */
  readonly uuid: string | null;
  /** Only for an entry that is omitted because other entries have the same id. */
  readonly id: string | null;
  readonly attribute: string | null;
  /** The end of a sentence whose subject is the entry or the attribute. */
  readonly reason: string;
}
