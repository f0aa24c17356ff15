import type { DirectoryMapping, NamedBy } from '../../config/model/mapping.js';
import { type Identified, keyOfEntry } from '../../sources/reference-key.js';
import type { EntryKind } from '../../sources/source.js';
import { NAMED_AS_ADMIN, NAMED_AS_MEMBER, NAMED_AS_OWNER, type NamedAs } from './snapshot.js';

/** The bits of NamedAs whose attributes name entries by DN, by id, and by entryUUID. */
export type NamedByMasks = Readonly<Record<NamedBy, NamedAs>>;

export function namedByMasksOf({ members, admins, owners }: DirectoryMapping['groups']): NamedByMasks {
  const maskOf = (by: NamedBy) =>
    (members.by === by ? NAMED_AS_MEMBER : 0) |
    (admins.by === by ? NAMED_AS_ADMIN : 0) |
    (owners.by === by ? NAMED_AS_OWNER : 0);
  return { dn: maskOf('dn'), id: maskOf('id'), uuid: maskOf('uuid') };
}

/** The keys (referenceKeyOf) by which groups can name an entry. */
export function keysOfEntry(kind: EntryKind, entry: Identified, masks: NamedByMasks): string[] {
  const names = (['dn', 'id', 'uuid'] as const).filter((by) => masks[by] > 0);
  return names.flatMap((by) => keyOfEntry(by, kind, entry) ?? []);
}
