import { createHash } from 'node:crypto';
import { type Field, pictureFields } from '../../common/field.js';
import { inSteps } from '../../common/steps.js';
import { foldId } from '../../common/identity.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Writer } from '../../database/statements/statement.js';
import type { KnownEntry } from '../../sources/ldap/listed-entries.js';
import type { EntryKind } from '../../sources/source.js';
import { mapGroupInSteps, mapPerson } from '../map/map.js';
import { faultOfPicture } from '../apply/picture-store.js';
import { hashGroupInSteps, hashPerson } from '../map/content-hash.js';
import { withStoredUsers } from '../plan/stored-naming.js';
import type { Aside, ScannedRow } from './stored-scan.js';

/** Compares entries with their mirrored rows, by the hashes that planning uses. */
export class EntryComparer {
  private readonly pictures: readonly Field[];

  constructor(
    private readonly manager: Writer,
    private readonly mapping: DirectoryMapping,
    private readonly aside: Aside,
  ) {
    this.pictures = pictureFields(mapping.users.fields);
  }

  isAside({ kind, uuid }: Pick<KnownEntry, 'kind' | 'uuid'>): boolean {
    return this.aside.entries[kind].has(uuid);
  }

  /** @param known the whole entry, with the bytes of its pictures */
  isSame(known: KnownEntry, row: ScannedRow): Promise<boolean> {
    return known.kind === 'person' ? this.isSamePerson(known, row) : this.isSameGroup(known, row);
  }

  private async isSameGroup({ uuid, entry }: KnownEntry, row: ScannedRow): Promise<boolean> {
    const { value } = await inSteps(mapGroupInSteps(entry, this.mapping.groups));
    if (value === null || row.dnKey === null) return this.isSameAside('group', uuid, value?.id ?? null, row);
    const group = await withStoredUsers(this.manager, this.mapping, value);
    const { contentHash, referencesHash } = await hashGroupInSteps(group, this.mapping.groups.fields);
    return (
      row.contentHash?.equals(contentHash) === true && row.referencesHash?.equals(referencesHash) === true
    );
  }

  private async isSamePerson({ uuid, entry }: KnownEntry, row: ScannedRow): Promise<boolean> {
    const { value } = mapPerson(entry, this.mapping.users);
    if (value === null || row.dnKey === null) return this.isSameAside('person', uuid, value?.id ?? null, row);
    const digests: Record<string, Buffer | null> = {};
    for (const { name, attribute } of this.pictures) {
      const stored = row.pictures[name] ?? null;
      digests[name] = await this.digestOf(value[name], `${uuid} ${attribute}`, stored);
    }
    const { contentHash } = hashPerson({ ...value, ...digests }, this.mapping.users.fields);
    return row.contentHash?.equals(contentHash) === true;
  }

  /**
   * An entry that cannot be mirrored, or is not mirrored, has to be quarantined for the same reason as
   * before.
   * @param id the id that the entry claims, or null if it cannot be mirrored
   */
  private isSameAside(kind: EntryKind, uuid: string, id: string | null, row: ScannedRow): boolean {
    if (row.dnKey !== null) return false;
    return this.aside.entries[kind].get(uuid) === (id === null ? null : foldId(id));
  }

  /** A quarantined picture counts as no picture, unless it could be displayed now. */
  private async digestOf(bytes: unknown, key: string, stored: Buffer | null): Promise<Buffer | null> {
    if (!Buffer.isBuffer(bytes) || bytes.length === 0) return null;
    const isAside = stored === null && this.aside.pictures.has(key);
    if (isAside && (await faultOfPicture(bytes)) !== null) return null;
    return createHash('sha256').update(bytes).digest();
  }
}
