import type {
  Hashed,
  HashedGroup,
  Plan,
  ReferenceChange,
  RoleChange,
  StoredEntry,
  StoredGroup,
} from './plan.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { hashGroup, hashPerson, hashPlan } from '../map/content-hash.js';
import type { EntryKind } from '../../sources/source.js';
import { storedKeyOf } from '../../sources/reference-key.js';
import { keysOfEntry, namedByMasksOf, type NamedByMasks } from '../map/named-by.js';
import type { Subject, Subjects } from '../map/relate.js';
import type { MappedGroup, NamedAs, MappedPerson, Snapshot } from '../map/snapshot.js';

/** The mirrored people and groups, by entryUUID: either all of them, or those that a snapshot covers. */
export interface StoredEntries {
  readonly people: ReadonlyMap<string, StoredEntry>;
  readonly groups: ReadonlyMap<string, StoredGroup>;
}

/**
 * A DN in the entry of a group, as the mirror stores it. `subject` is the entry with that DN, if there is
 * one.
 */
export interface StoredReference {
  readonly group: string;
  readonly dnKey: string;
  readonly namedAs: NamedAs;
  readonly subject: Subject | null;
}

export interface Comparison {
  readonly people: Changes<Hashed<MappedPerson>>;
  readonly groups: Changes<HashedGroup>;
  readonly regrouped: readonly HashedGroup[];
  /** Keys (referenceKeyOf) that now belong to a different entry than before, or to none. */
  readonly touchedKeys: readonly string[];
  /** The references after the change that can differ, of large groups among `regrouped`, by entryUUID. All others stay the same. */
  readonly narrowed?: ReadonlyMap<string, References>;
}

type References = Iterable<readonly [dnKey: string, namedAs: NamedAs]>;

interface Changes<Each> {
  readonly created: readonly Each[];
  readonly updated: readonly Each[];
  readonly deleted: readonly StoredEntry[];
}

/**
 * Compares a snapshot with the rows of people and groups (pure).
 * @param stored every row, or the rows of the entries that the snapshot covers
 */
export function compareEntries(
  snapshot: Snapshot,
  stored: StoredEntries,
  mapping: DirectoryMapping,
): Comparison {
  const masks = namedByMasksOf(mapping.groups);
  const people = [...snapshot.people.values()].map((each) => hashPerson(each, mapping.users.fields));
  const groups = [...snapshot.groups.values()].map((each) => hashGroup(each, mapping.groups.fields));
  return {
    people: changesOf(people, stored.people),
    groups: changesOf(groups, stored.groups),
    regrouped: groups.filter(({ value, referencesHash }) => {
      const row = stored.groups.get(value.uuid);
      return row !== undefined && !row.referencesHash.equals(referencesHash);
    }),
    touchedKeys: [
      ...touchedKeys('person', people, stored.people, masks),
      ...touchedKeys('group', groups, stored.groups, masks),
    ],
  };
}

function changesOf<Each extends Hashed<MappedPerson | MappedGroup>>(
  wanted: readonly Each[],
  stored: ReadonlyMap<string, StoredEntry>,
): Changes<Each> {
  const uuids = new Set(wanted.map(({ value }) => value.uuid));
  return {
    created: wanted.filter(({ value }) => !stored.has(value.uuid)),
    updated: wanted.filter(({ value, contentHash }) => {
      const row = stored.get(value.uuid);
      return row !== undefined && !row.contentHash.equals(contentHash);
    }),
    deleted: [...stored.values()].filter(({ uuid }) => !uuids.has(uuid)),
  };
}

function* touchedKeys(
  kind: EntryKind,
  wanted: readonly Hashed<MappedPerson | MappedGroup>[],
  stored: ReadonlyMap<string, StoredEntry>,
  masks: NamedByMasks,
): Generator<string> {
  const after = new Map(wanted.map(({ value }) => [value.uuid, value]));
  const keysOf = (entry: Pick<StoredEntry, 'uuid' | 'dnKey' | 'id'> | undefined) =>
    entry === undefined ? [] : keysOfEntry(kind, entry, masks);
  for (const [uuid, value] of after) {
    const before = keysOf(stored.get(uuid));
    yield* keysOf(value).filter((key) => !before.includes(key));
  }
  for (const row of stored.values()) {
    const present = keysOf(after.get(row.uuid));
    yield* keysOf(row).filter((key) => !present.includes(key));
  }
}

/**
 * Completes a comparison with the members that join groups, change their role or leave (pure).
 * @param references all references of the groups whose references changed or that were deleted, and for large
 *   groups (`narrowed`) and all others the references to the touched keys
 * @param subjects the person or group that each referenced DN will belong to
 */
export function planChanges(
  comparison: Comparison,
  references: readonly StoredReference[],
  subjects: Subjects,
): Plan {
  const { people, groups, regrouped } = comparison;
  const before = byGroup(references);
  const memberships: RoleChange[] = [];
  const nestings: RoleChange[] = [];
  const unresolved: ReferenceChange[] = [];
  const gone = new Set(groups.deleted.map(({ uuid }) => uuid));
  for (const [group, wantedReferences] of referencesAfter(before, comparison)) {
    const held = new Namings();
    for (const { dnKey, namedAs, subject } of before.get(group) ?? []) held.add(dnKey, namedAs, subject);
    const wanted = namingsOf(group, wantedReferences, subjects);
    for (const change of roleChanges(group, held.people, wanted.people)) memberships.push(change);
    for (const change of roleChanges(group, held.groups, wanted.groups)) nestings.push(change);
    // The unresolved references of a deleted group are deleted together with the group.
    if (gone.has(group)) continue;
    for (const change of roleChanges(group, held.unresolved, wanted.unresolved)) {
      unresolved.push({ group, dnKey: change.subject, after: change.after });
    }
  }
  const visible = {
    createdPeople: people.created,
    updatedPeople: people.updated,
    deletedPeople: people.deleted,
    createdGroups: groups.created,
    updatedGroups: groups.updated,
    deletedGroups: groups.deleted,
    memberships,
    nestings,
  };
  return { ...visible, regrouped, unresolved, hash: hashPlan(visible) };
}

function referencesAfter(
  before: ReadonlyMap<string, readonly StoredReference[]>,
  { groups, regrouped, narrowed }: Comparison,
): Map<string, References> {
  const after = new Map<string, References>();
  for (const [group, held] of before) {
    const references = held.map(({ dnKey, namedAs }) => [dnKey, namedAs] as const);
    after.set(group, references);
  }
  for (const { value } of [...groups.created, ...regrouped])
    after.set(value.uuid, narrowed?.get(value.uuid) ?? value.references);
  for (const { uuid } of groups.deleted) after.set(uuid, []);
  return after;
}

function namingsOf(group: string, references: References, subjects: Subjects): Namings {
  const namings = new Namings();
  for (const [dnKey, namedAs] of references) {
    const subject = subjects.get(storedKeyOf(dnKey));
    // A group that names itself: the placeholder of an empty group.
    namings.add(dnKey, namedAs, subject === undefined || subject.uuid === group ? null : subject);
  }
  return namings;
}

class Namings {
  readonly people = new Map<string, NamedAs>();
  readonly groups = new Map<string, NamedAs>();
  /** By storedKeyOf. */
  readonly unresolved = new Map<string, NamedAs>();

  add(dnKey: string, namedAs: NamedAs, subject: Subject | null): void {
    const namings =
      subject === null ? this.unresolved : this[subject.kind === 'person' ? 'people' : 'groups'];
    const key = subject === null ? storedKeyOf(dnKey) : subject.uuid;
    // A group can name an entry by its DN and, in another attribute, by its id.
    namings.set(key, (namings.get(key) ?? 0) | namedAs);
  }
}

function byGroup(references: readonly StoredReference[]): Map<string, StoredReference[]> {
  const groups = new Map<string, StoredReference[]>();
  for (const reference of references) {
    const ofGroup = groups.get(reference.group);
    if (ofGroup === undefined) groups.set(reference.group, [reference]);
    else ofGroup.push(reference);
  }
  return groups;
}

function* roleChanges(
  group: string,
  before: ReadonlyMap<string, NamedAs>,
  after: ReadonlyMap<string, NamedAs>,
): Generator<RoleChange> {
  for (const [subject, namedAs] of after) {
    const held = before.get(subject) ?? null;
    if (held !== namedAs) yield { group, subject, before: held, after: namedAs };
  }
  for (const [subject, namedAs] of before) {
    if (!after.has(subject)) yield { group, subject, before: namedAs, after: null };
  }
}
