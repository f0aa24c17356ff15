import { createHash } from 'node:crypto';
import { CONTENT_VERSION } from '../../sources/source.js';
import type { Hashed, HashedGroup, RoleChange, StoredEntry, Visible } from '../plan/plan.js';
import type { MappedGroup, MappedPerson } from './snapshot.js';

/**
 * Fields whose values have a fixed position in the hash, as in the first releases. All others are hashed by
 * name, and only if they have a value, so a new field changes the hash of only the entries that have it.
 */
const PERSON_PLACES = ['givenName', 'familyName', 'schoolYear', 'photo', 'picture'];
const GROUP_PLACES = ['description', 'website'];

export function hashPerson(person: MappedPerson): Hashed<MappedPerson> {
  // Active people have the hash of earlier releases.
  const { active, ...others } = person;
  return { value: person, contentHash: hashContent(active === false ? person : others, PERSON_PLACES) };
}

export function hashGroup(group: MappedGroup): HashedGroup {
  return {
    value: group,
    contentHash: hashContent(group, GROUP_PLACES),
    referencesHash: digest([...group.references].sort(byFirst)),
  };
}

function hashContent(entry: MappedPerson | MappedGroup, places: readonly string[]): Buffer {
  const { uuid, dnKey, references, dn, id, name, sourceValues, createdAt, email, ...fields } = entry;
  const source = sourceValues === null ? null : Object.entries(sourceValues).sort(byFirst);
  const others = Object.entries(fields)
    .filter(([field, value]) => !places.includes(field) && value !== null)
    .map(([field, value]) => [field, hashed(value)] as const)
    .sort(byFirst);
  return digest([
    ...[CONTENT_VERSION, dn, id, name, hashed(email), source, createdAt?.getTime() ?? null],
    ...places.map((field) => hashed(fields[field])),
    ...(others.length === 0 ? [] : [others]),
  ]);
}

function hashed(value: unknown): unknown {
  return Buffer.isBuffer(value) ? value.toString('hex') : (value ?? null);
}

/**
 * Returns the hash that identifies a plan: SHA-256, in hexadecimal. Items are hashed one by one, because a
 * first run has hundreds of thousands of roles.
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

/** Lists are unambiguous: their items have a fixed length or a format without this character. */
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
