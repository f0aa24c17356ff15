import type { DirectoryMapping, NamedBy } from '../../config/model/mapping.js';
import { type Identified, keyOfEntry } from '../../sources/reference-key.js';
import type { EntryKind } from '../../sources/source.js';
import { NAMED_AS_ADMIN, NAMED_AS_MEMBER, NAMED_AS_OWNER, type NamedAs } from './snapshot.js';

/** The bits of NamedAs whose attributes name entries by DN, by id, and by entryUUID. */
export type NamedByMasks = Readonly<Record<NamedBy, NamedAs>>;

export const NAMED_BY_DN: NamedByMasks = {
  dn: NAMED_AS_MEMBER | NAMED_AS_ADMIN | NAMED_AS_OWNER,
  id: 0,
  uuid: 0,
};

export const EVERY_NAME: readonly NamedBy[] = ['dn', 'id', 'uuid'];

export function namedByMasksOf({ members, admins, owners }: DirectoryMapping['groups']): NamedByMasks {
  const maskOf = (by: NamedBy) =>
    (members.by === by ? NAMED_AS_MEMBER : 0) |
    (admins.by === by ? NAMED_AS_ADMIN : 0) |
    (owners.by === by ? NAMED_AS_OWNER : 0);
  return { dn: maskOf('dn'), id: maskOf('id'), uuid: maskOf('uuid') };
}

/** The kinds of names by which groups can name entries of a kind. */
export function namesOf(kind: EntryKind, masks: NamedByMasks): NamedBy[] {
  return EVERY_NAME.filter((by) => masks[by] > 0 && (by !== 'id' || kind === 'person'));
}

/** The keys (referenceKeyOf) by which groups can name an entry. */
export function keysOfEntry(kind: EntryKind, entry: Identified, masks: NamedByMasks): string[] {
  return keysWithNaming(kind, entry, masks, NAMED_BY_DN.dn).map(({ key }) => key);
}

/** The keys by which a group names an entry in these attributes, each with the attributes of its kind. */
export function keysWithNaming(
  kind: EntryKind,
  entry: Identified,
  masks: NamedByMasks,
  namedAs: NamedAs,
): { key: string; namedAs: NamedAs }[] {
  return EVERY_NAME.filter((by) => (masks[by] & namedAs) > 0).flatMap((by) => {
    const key = keyOfEntry(by, kind, entry);
    return key === null ? [] : [{ key, namedAs: masks[by] & namedAs }];
  });
}
