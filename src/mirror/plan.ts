import { createHash } from 'node:crypto';
import type { Person, Rank, RelatedGroup, Snapshot } from './snapshot.js';

/** Changes when the meaning of mapped content does, so that every row is compared anew. */
export const CONTENT_VERSION = 1;

/** A row of the mirror, as far as a plan needs it. */
export interface StoredEntry {
  readonly uuid: string;
  readonly id: string;
  readonly contentHash: Buffer;
}

/** What the mirror holds. Roles are only needed of groups that have changed or gone. */
export interface Stored {
  readonly people: ReadonlyMap<string, StoredEntry>;
  readonly groups: ReadonlyMap<string, StoredEntry>;
  readonly members: ReadonlyMap<string, ReadonlyMap<string, Rank>>;
  readonly nested: ReadonlyMap<string, ReadonlyMap<string, Rank>>;
}

/** A role that somebody, or an inner group, gets, changes or loses in a group; all by entryUUID. */
export interface RoleChange {
  readonly group: string;
  readonly subject: string;
  readonly before: Rank | null;
  readonly after: Rank | null;
}

export interface Hashed<Value> {
  readonly value: Value;
  readonly contentHash: Buffer;
}

/** Everything that has to happen for the mirror to equal the directory. A value: nothing has happened yet. */
export interface Plan {
  readonly createdPeople: readonly Hashed<Person>[];
  readonly updatedPeople: readonly Hashed<Person>[];
  readonly deletedPeople: readonly StoredEntry[];
  readonly createdGroups: readonly Hashed<RelatedGroup>[];
  readonly updatedGroups: readonly Hashed<RelatedGroup>[];
  readonly deletedGroups: readonly StoredEntry[];
  readonly memberships: readonly RoleChange[];
  readonly nestings: readonly RoleChange[];
  /** SHA-256 of all of the above, in hexadecimal: names exactly this plan. */
  readonly hash: string;
}

/** A comparison of entries, before roles are looked at. */
export interface Comparison {
  readonly people: Changes<Person>;
  readonly groups: Changes<RelatedGroup>;
}

interface Changes<Value> {
  readonly created: readonly Hashed<Value>[];
  readonly updated: readonly Hashed<Value>[];
  readonly deleted: readonly StoredEntry[];
}

/** Compares a snapshot with the rows of people and groups (pure). */
export function compareEntries(snapshot: Snapshot, stored: Pick<Stored, 'people' | 'groups'>): Comparison {
  return {
    people: changesOf(snapshot.people, stored.people, hashPerson),
    groups: changesOf(snapshot.groups, stored.groups, hashGroup),
  };
}

function changesOf<Value>(
  wanted: ReadonlyMap<string, Value>,
  stored: ReadonlyMap<string, StoredEntry>,
  hash: (value: Value) => Buffer,
): Changes<Value> {
  const created: Hashed<Value>[] = [];
  const updated: Hashed<Value>[] = [];
  for (const [uuid, value] of wanted) {
    const contentHash = hash(value);
    const row = stored.get(uuid);
    if (row === undefined) created.push({ value, contentHash });
    else if (!row.contentHash.equals(contentHash)) updated.push({ value, contentHash });
  }
  return { created, updated, deleted: [...stored.values()].filter(({ uuid }) => !wanted.has(uuid)) };
}

/** Completes a comparison with the roles that come, change and go (pure). */
export function planChanges(
  { people, groups }: Comparison,
  stored: Pick<Stored, 'members' | 'nested'>,
): Plan {
  const changed = [...groups.created, ...groups.updated].map(({ value }) => value);
  const gone = groups.deleted.map(({ uuid }) => ({ uuid, members: NOBODY, nested: NOBODY }));
  const plan = {
    createdPeople: people.created,
    updatedPeople: people.updated,
    deletedPeople: people.deleted,
    createdGroups: groups.created,
    updatedGroups: groups.updated,
    deletedGroups: groups.deleted,
    memberships: [...changed, ...gone].flatMap(({ uuid, members }) =>
      roleChanges(uuid, stored.members.get(uuid), members),
    ),
    nestings: [...changed, ...gone].flatMap(({ uuid, nested }) =>
      roleChanges(uuid, stored.nested.get(uuid), nested),
    ),
  };
  return { ...plan, hash: hashPlan(plan) };
}

const NOBODY: ReadonlyMap<string, Rank> = new Map();

function roleChanges(
  group: string,
  before: ReadonlyMap<string, Rank> = NOBODY,
  after: ReadonlyMap<string, Rank>,
): RoleChange[] {
  const changes: RoleChange[] = [];
  for (const [subject, rank] of after) {
    const held = before.get(subject) ?? null;
    if (held !== rank) changes.push({ group, subject, before: held, after: rank });
  }
  for (const [subject, rank] of before) {
    if (!after.has(subject)) changes.push({ group, subject, before: rank, after: null });
  }
  return changes;
}

/**
 * Roles taken from people who stay, in groups that stay. A membership that goes with its person or its group is
 * no news beside that: it would count one leaving twice.
 */
export function countRemovals({ memberships, deletedPeople, deletedGroups }: Omit<Plan, 'hash'>): number {
  const gone = new Set([...deletedPeople, ...deletedGroups].map(({ uuid }) => uuid));
  return memberships.filter(
    ({ group, subject, after }) => after === null && !gone.has(group) && !gone.has(subject),
  ).length;
}

/** Whether there is nothing to do. */
export function isEmpty(plan: Plan): boolean {
  const { hash, ...changes } = plan;
  return Object.values(changes).every(({ length }) => length === 0);
}

function hashPerson(person: Person): Buffer {
  const { uuid, photo, picture, createdAt, ...text } = person;
  return digest([
    CONTENT_VERSION,
    text.dn,
    text.id,
    text.name,
    text.givenName,
    text.familyName,
    text.email,
    text.schoolYear,
    photo?.toString('hex') ?? null,
    picture?.toString('hex') ?? null,
    createdAt?.getTime() ?? null,
  ]);
}

function hashGroup(group: RelatedGroup): Buffer {
  return digest([
    CONTENT_VERSION,
    group.dn,
    group.id,
    group.name,
    group.description,
    group.website,
    group.email,
    group.createdAt?.getTime() ?? null,
    [...group.members].sort(byFirst),
    [...group.nested].sort(byFirst),
  ]);
}

/** Piece by piece: a first run has hundreds of thousands of roles, which are not held a second time as text. */
function hashPlan(plan: Omit<Plan, 'hash'>): string {
  const hash = createHash('sha256');
  const addHashed = (changes: readonly Hashed<{ uuid: string }>[]) => {
    const uuids = changes.map(({ value, contentHash }) => [value.uuid, contentHash] as const).sort(byFirst);
    for (const [uuid, contentHash] of uuids) hash.update(uuid).update(contentHash);
    hash.update(END_OF_LIST);
  };
  const addGone = (entries: readonly StoredEntry[]) => {
    for (const uuid of entries.map((entry) => entry.uuid).sort()) hash.update(uuid);
    hash.update(END_OF_LIST);
  };
  const addRoles = (changes: readonly RoleChange[]) => {
    for (const { group, subject, before, after } of [...changes].sort(byGroupAndSubject)) {
      hash.update(`${group} ${subject} ${before ?? 0} ${after ?? 0}`);
    }
    hash.update(END_OF_LIST);
  };
  addHashed(plan.createdPeople);
  addHashed(plan.updatedPeople);
  addGone(plan.deletedPeople);
  addHashed(plan.createdGroups);
  addHashed(plan.updatedGroups);
  addGone(plan.deletedGroups);
  addRoles(plan.memberships);
  addRoles(plan.nestings);
  return hash.digest('hex');
}

/** What is in the lists has a fixed length, or a form without this character: none runs into the next. */
const END_OF_LIST = '\n';

function byGroupAndSubject(left: RoleChange, right: RoleChange): number {
  return compare(left.group, right.group) || compare(left.subject, right.subject);
}

function byFirst([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return compare(left, right);
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function digest(value: unknown): Buffer {
  return createHash('sha256').update(JSON.stringify(value)).digest();
}
