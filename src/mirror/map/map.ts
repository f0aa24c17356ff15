import { atOnce, type Steps } from '../../common/steps.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Entry } from '../../ldap/entry.js';
import { EntryReader, type Mapped } from './entry-reader.js';
import { isActive } from './activity.js';
import { groupKeysOf, namedGroupsOf } from '../../sources/named-groups.js';
import { GROUP_KEYS, NAMED_GROUPS } from './named-groups.js';
import { audiencesOf } from './visibility-rules.js';
import { NAMED_AS_ADMIN, NAMED_AS_MEMBER, NAMED_AS_OWNER, type NamedAs } from './named-by.js';
import type { MappedGroup, MappedPerson } from './snapshot.js';

/** The auxiliary object classes that the project ships (ldap/directory.schema). */
export const PERSON_CLASS = 'directoryPerson';
export const GROUP_CLASS = 'directoryGroup';

/** Maps the entry of a person (pure). The result has the bytes of the pictures, not their digests. */
export function mapPerson(entry: Entry, mapping: DirectoryMapping['users']): Mapped<MappedPerson> {
  const { fields, rules, memberOf } = mapping;
  const reader = new EntryReader('person', entry);
  const identity = reader.identity(mapping);
  if (identity === null) return reader.give<MappedPerson>(null);
  const others = { ...audiencesOf(entry, { visibleTo: rules }), active: isActive(entry, mapping) };
  const named = memberOf === undefined ? [] : namedGroupsOf(entry, memberOf);
  const person = {
    ...identity,
    ...others,
    ...reader.values(fields),
    ...(named.length > 0 && { [NAMED_GROUPS]: named }),
  };
  return reader.give(person);
}

export function mapGroup(entry: Entry, mapping: DirectoryMapping['groups']): Mapped<MappedGroup> {
  return atOnce(mapGroupInSteps(entry, mapping));
}

/** Maps a group that can have many members: other work of the process can run meanwhile. */
export function* mapGroupInSteps(
  entry: Entry,
  mapping: DirectoryMapping['groups'],
): Steps<Mapped<MappedGroup>> {
  const { fields, rules, memberRules } = mapping;
  const reader = new EntryReader('group', entry);
  const identity = reader.identity(mapping);
  if (identity === null) return reader.give<MappedGroup>(null);
  const audiences = audiencesOf(entry, { visibleTo: rules, membersVisibleTo: memberRules });
  const keys = groupKeysOf(entry);
  const group = {
    ...identity,
    ...audiences,
    ...reader.values(fields),
    ...(keys.length > 0 && { [GROUP_KEYS]: keys }),
  };
  const references = new Map<string, NamedAs>();
  yield* reader.addReferences(references, mapping.members, NAMED_AS_MEMBER);
  yield* reader.addReferences(references, mapping.admins, NAMED_AS_ADMIN);
  yield* reader.addReferences(references, mapping.owners, NAMED_AS_OWNER);
  return reader.give({ ...group, references });
}
