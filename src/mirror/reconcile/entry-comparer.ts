import { createHash } from 'node:crypto';
import { type Field, pictureFields } from '../../common/field.js';
import type { DirectoryMapping } from '../../config/settings/directory.js';
import type { KnownEntry } from '../../sources/ldap/ldap-directory.js';
import { userFields } from '../../users/user.fields.js';
import { mapGroup, mapPerson } from '../map/map.js';
import { hashGroup, hashPerson } from '../map/content-hash.js';
import type { ScannedRow } from './stored-scan.js';

/** Whether the pictures of an entry were read, or are taken to be those that are mirrored. */
export type PicturesOf = 'entry' | 'mirror';

/** Compares entries with what the mirror holds of them, by the hashes that planning uses. */
export class EntryComparer {
  /** Those of pictures. */
  private readonly fields: readonly Field[];

  /** @param asidePictures people of whom a picture is in quarantine: «entryUUID attribute» */
  constructor(
    private readonly mapping: DirectoryMapping,
    private readonly asidePictures: ReadonlySet<string>,
  ) {
    this.fields = pictureFields(userFields(mapping.people));
  }

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
    const digests = this.fields.map(({ name, attribute }) => {
      const stored = row.pictures[name] ?? null;
      return [
        name,
        picturesOf === 'mirror' ? stored : this.digestOf(value.uuid, attribute, value[name], stored),
      ] as const;
    });
    return (
      row.contentHash?.equals(hashPerson({ ...value, ...Object.fromEntries(digests) }).contentHash) === true
    );
  }

  /** The digest of a picture. A picture that is in quarantine counts as none. */
  private digestOf(uuid: string, attribute: string, bytes: unknown, stored: Buffer | null): Buffer | null {
    if (!Buffer.isBuffer(bytes) || bytes.length === 0) return null;
    if (stored === null && this.hasAside(uuid, attribute)) return null;
    return createHash('sha256').update(bytes).digest();
  }
}
