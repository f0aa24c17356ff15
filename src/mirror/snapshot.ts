/** How a membership attribute ranks: 1 member, 2 admin, 3 owner. A higher role is a larger number. */
export type Rank = 1 | 2 | 3;

/** A person as one entry of the directory maps to one. */
export interface Person {
  readonly uuid: string;
  readonly dn: string;
  readonly id: string;
  readonly name: string;
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly email: string | null;
  readonly schoolYear: string | null;
  /** SHA-256 of the photo: its bytes are elsewhere already. */
  readonly photo: Buffer | null;
  readonly picture: Buffer | null;
  /** When the entry was made, where the directory says so. */
  readonly createdAt: Date | null;
}

/** A group as one entry maps to one, before the DNs in it are looked up. */
export interface MappedGroup {
  readonly uuid: string;
  readonly dn: string;
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly website: string | null;
  readonly email: string | null;
  readonly createdAt: Date | null;
  readonly references: readonly { readonly dn: string; readonly rank: Rank }[];
}

/** A group with the people and groups that it names. */
export interface RelatedGroup extends Omit<MappedGroup, 'references'> {
  /** Direct role of each person, by entryUUID. */
  readonly members: ReadonlyMap<string, Rank>;
  /** Role of whoever is in each inner group, by entryUUID. */
  readonly nested: ReadonlyMap<string, Rank>;
}

/** An entry, or one attribute of it, that was left out, and why. The rest of the run goes on without it. */
export interface Quarantined {
  readonly dn: string;
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

/** The directory at one moment, as far as it is mirrored. */
export interface Snapshot {
  readonly people: ReadonlyMap<string, Person>;
  readonly groups: ReadonlyMap<string, RelatedGroup>;
  readonly quarantined: readonly Quarantined[];
  readonly skipped: Skipped;
}
