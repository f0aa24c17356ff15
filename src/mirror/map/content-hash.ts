import { createHash } from 'node:crypto';
import { CONTENT_VERSION } from '../../sources/source.js';
import type { Hashed, HashedGroup, RoleChange, StoredEntry, Visible } from '../plan/plan.js';
import type { Group, Person } from './snapshot.js';

/** A person with what stands for their content. */
export function hashPerson(person: Person): Hashed<Person> {
  const contentHash = digest([
    ...contentOf(person),
    person.givenName,
    person.familyName,
    person.schoolYear,
    person.photo?.toString('hex') ?? null,
    person.picture?.toString('hex') ?? null,
  ]);
  return { value: person, contentHash };
}

/** A group with what stands for its content, and for whom it names. */
export function hashGroup(group: Group): HashedGroup {
  return {
    value: group,
    contentHash: digest([...contentOf(group), group.description, group.website]),
    referencesHash: digest([...group.references].sort(byFirst)),
  };
}

function contentOf({ dn, id, name, email, sourceValues, createdAt }: Person | Group): unknown[] {
  const values = sourceValues === null ? null : Object.entries(sourceValues).sort(byFirst);
  return [CONTENT_VERSION, dn, id, name, email, values, createdAt?.getTime() ?? null];
}

/**
 * What names a plan: SHA-256, in hexadecimal. Piece by piece: a first run has hundreds of thousands of roles, which are not held a second
 * time as text.
 */
export function hashPlan(plan: Visible): string {
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
