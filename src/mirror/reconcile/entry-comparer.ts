import { createHash } from 'node:crypto';
import type { DirectoryMapping } from '../../config/settings/directory.js';
import type { KnownEntry } from '../../sources/ldap/ldap-directory.js';
import { mapGroup, type MappedPerson, mapPerson } from '../map/map.js';
import { hashGroup, hashPerson } from '../map/content-hash.js';
import type { ScannedRow } from './stored-scan.js';

/** Whether the pictures of an entry were read, or are taken to be those that are mirrored. */
export type PicturesOf = 'entry' | 'mirror';

/** Compares entries with what the mirror holds of them, by the hashes that planning uses. */
export class EntryComparer {
  /** @param asidePictures people of whom a picture is in quarantine: «entryUUID attribute» */
  constructor(
    private readonly mapping: DirectoryMapping,
    private readonly asidePictures: ReadonlySet<string>,
  ) {}

  hasAside(uuid: string, attribute: string): boolean {
    return this.asidePictures.has(`${uuid} ${attribute}`);
  }

  isSame(known: KnownEntry, row: ScannedRow, picturesOf: PicturesOf): boolean {
    return known.kind === 'group' ? this.isSameGroup(known, row) : this.isSamePerson(known, row, picturesOf);
  }

  private isSameGroup({ entry }: KnownEntry, row: ScannedRow): boolean {
    const { value } = mapGroup(entry, this.mapping.groups);
    // An entry that cannot be mirrored must not be.
    if (value === null) return row.dnKey === null;
    const { contentHash, referencesHash } = hashGroup(value);
    return (
      row.contentHash?.equals(contentHash) === true && row.referencesHash?.equals(referencesHash) === true
    );
  }

  private isSamePerson({ entry }: KnownEntry, row: ScannedRow, picturesOf: PicturesOf): boolean {
    const { value } = mapPerson(entry, this.mapping.people);
    if (value === null) return row.dnKey === null;
    const { photo, picture } = picturesOf === 'mirror' ? row : this.hashPictures(value, row);
    return row.contentHash?.equals(hashPerson({ ...value, photo, picture }).contentHash) === true;
  }

  /** A picture that is in quarantine counts as none. */
  private hashPictures(person: MappedPerson, row: ScannedRow): Pick<ScannedRow, 'photo' | 'picture'> {
    const { people } = this.mapping;
    const hash = (bytes: Buffer | null, attribute: string, stored: Buffer | null) => {
      if (bytes === null || bytes.length === 0) return null;
      if (stored === null && this.hasAside(person.uuid, attribute)) return null;
      return createHash('sha256').update(bytes).digest();
    };
    return {
      photo: hash(person.photo, people.photo, row.photo),
      picture: hash(person.picture, people.picture, row.picture),
    };
  }
}
