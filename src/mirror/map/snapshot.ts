import type { EntryKind } from '../../sources/source.js';

/** How a role ranks: 1 member, 2 admin, 3 owner. A higher role is a larger number. */
export type Rank = 1 | 2 | 3;

/** The attributes of a group that name somebody, added up: 1 the members', 2 the admins', 4 the owners'. */
export type NamedAs = number;

export const NAMED_AS_MEMBER = 1;
export const NAMED_AS_ADMIN = 2;
export const NAMED_AS_OWNER = 4;

/** The highest of the roles that somebody is named for. */
export function rankOfNaming(namedAs: NamedAs): Rank {
  return namedAs >= NAMED_AS_OWNER ? 3 : namedAs >= NAMED_AS_ADMIN ? 2 : 1;
}

/**
 * The raw values of the attributes that hold something else than the one value shown, by attribute in lower case:
 * several, one with white space around it, or none where the shown value is another attribute's; null: a value that
 * is not UTF-8. Under `objectclass` the classes of an entry that lacks the auxiliary class of ours. A change to the
 * entry has to name what it replaces.
 */
export type SourceValues = Readonly<Record<string, readonly string[] | null>>;

/** What people and groups have in common. */
interface MappedEntry {
  readonly uuid: string;
  readonly dn: string;
  /** Stands for the DN: see keyOfDn. */
  readonly dnKey: string;
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  /** Null: every attribute holds exactly what is shown. */
  readonly sourceValues: SourceValues | null;
  /** When the entry was made, where the directory says so. */
  readonly createdAt: Date | null;
}

/** A person as one entry of the directory maps to one. */
export interface Person extends MappedEntry {
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly schoolYear: string | null;
  /** SHA-256 of the photo: its bytes are elsewhere already. */
  readonly photo: Buffer | null;
  readonly picture: Buffer | null;
}

/** A group as one entry maps to one. */
export interface Group extends MappedEntry {
  readonly description: string | null;
  readonly website: string | null;
  /** By which attributes the group names the entry behind each DN, by keyOfDn. Whether there is one is seen later. */
  readonly references: ReadonlyMap<string, NamedAs>;
}

/** An entry, or one attribute of it, that was left out, and why. The rest of the run goes on without it. */
export interface Quarantined {
  readonly kind: EntryKind;
  readonly dn: string;
  /** Null where the entry has none that can be used. */
  readonly uuid: string | null;
  /** Of an entry that is left out because others have the same one. */
  readonly id: string | null;
  readonly attribute: string | null;
  /** The end of a sentence that begins with the entry or attribute. */
  readonly reason: string;
}

/** What was left out without anything being wrong with an entry. */
export interface Skipped {
  /** DNs in groups that name nothing that is mirrored. */
  readonly dangling: number;
  /** Groups that name themselves: the placeholder of an empty groupOfNames. */
  readonly placeholders: number;
  /** Groups that contain themselves through others. */
  readonly cyclic: number;
}

/** People and groups of the directory at one moment: all of them, or those that have changed. */
export interface Snapshot {
  readonly people: ReadonlyMap<string, Person>;
  readonly groups: ReadonlyMap<string, Group>;
  readonly quarantined: readonly Quarantined[];
}
