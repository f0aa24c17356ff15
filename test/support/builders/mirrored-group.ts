import { ServiceError } from '../../../src/common/errors.js';
import { type DirectoryMapping, memberAttributesOf } from '../../../src/config/model/mapping.js';
import type { Entry } from '../../../src/ldap/entry.js';
import { mapGroup, type MappedGroup } from '../../../src/mirror/map/map.js';
import type { MirroredGroup } from '../../../src/previews/group-records.js';
import { builtInConfig } from './built-in-config.js';
import { rawAttributes } from './model-entry.js';

const { groups } = builtInConfig().directory.mapping;

export function mapped(entry: Entry, by: DirectoryMapping['groups'] = groups): MappedGroup {
  const { value } = mapGroup(entry, by);
  if (value === null) throw new Error('the entry is no group');
  return value;
}

/** The mirrored group of an entry, as previews read it. */
export function storedGroup(entry: Entry, by: DirectoryMapping['groups'] = groups): MirroredGroup {
  const { uuid, dn, id } = mapped(entry, by);
  const attributes = rawAttributes(entry, memberAttributesOf(by));
  const memberValues = entry.bytes('member').length;
  return {
    kind: 'group',
    key: 1,
    uuid,
    dn,
    id,
    attributes,
    memberValues,
    ownerValues: 0,
    membersVisibleTo: 0,
  };
}

/** Returns null when the action is rejected, which is allowed here. */
export function withoutRefusal<Outcome>(act: () => Outcome): Outcome | null {
  try {
    return act();
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}
