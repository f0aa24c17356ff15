import {
  AUDIENCE_LEVELS,
  type AudienceLevel,
  type DirectoryMapping,
  type EntryMapping,
} from '../../config/model/mapping.js';
import type { Entry } from '../../ldap/entry.js';
import { compileFilter } from '../../ldap/filter/filter.js';
import { type EntryIdentity, EntryReader, type Mapped } from './entry-reader.js';
import { atOnce, type Steps } from './steps.js';
import {
  groupKeysOf,
  NAMED_AS_ADMIN,
  NAMED_AS_MEMBER,
  NAMED_AS_OWNER,
  type NamedAs,
  namedGroupsOf,
} from '../../sources/references.js';

/**
 * Users can name the groups that they belong to: in memberOf, and by the number of their primary group. They are stored as references
 * of a field with this name, which no field has. In a mapped user: the keys of the groups that the entry names.
 */
export const NAMED_GROUPS = ':memberOf';
/** Member of a mapped group: the keys by which users name it, besides that of its DN. */
export const GROUP_KEYS = ':keys';

/** The values that users and groups have in common, and by name the values of all other fields. */
interface MappedEntry extends EntryIdentity {
  readonly [field: string]: unknown;
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

/** The auxiliary object classes that the project ships (ldap/directory.schema). */
export const PERSON_CLASS = 'directoryPerson';
export const GROUP_CLASS = 'directoryGroup';

/** Maps the entry of a person (pure). The result has the bytes of the pictures, not their digests. */
export function mapPerson(entry: Entry, mapping: DirectoryMapping['users']): Mapped<MappedPerson> {
  const { fields, rules, memberOf, disabled } = mapping;
  const reader = new EntryReader(entry);
  const identity = reader.identity(mapping);
  if (identity === null) return reader.give<MappedPerson>(null);
  const others = {
    ...audiencesOf(entry, { visibleTo: rules }),
    active: disabled === null || !matches(entry, disabled),
  };
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
  const reader = new EntryReader(entry);
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

/** The filters of a configuration do not change, and are compiled once. */
const compiled = new Map<string, (entry: Entry) => boolean>();

function matches(entry: Entry, filter: string): boolean {
  let isMatch = compiled.get(filter);
  if (isMatch === undefined) compiled.set(filter, (isMatch = compileFilter(filter)));
  return isMatch(entry);
}

/** Returns the audience of an entry by each list of rules. None: everyone may see what the rules are about. */
function audiencesOf<Name extends string>(
  entry: Entry,
  rules: Readonly<Record<Name, EntryMapping['rules']>>,
): Partial<Record<Name, AudienceLevel>> {
  const audiences: Partial<Record<Name, AudienceLevel>> = {};
  for (const name of Object.keys(rules) as Name[]) {
    const first = rules[name].find(({ where }) => matches(entry, where));
    if (first !== undefined) audiences[name] = AUDIENCE_LEVELS[first.to];
  }
  return audiences;
}
