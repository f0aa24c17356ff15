import { createHash, hash } from 'node:crypto';
import type { Field } from '../../common/field.js';
import { atOnce, inSteps, type Steps } from '../../common/steps.js';
import { isKeyOfDn } from '../../sources/reference-key.js';
import { CONTENT_VERSION, FOLDING_VERSION } from '../../sources/source.js';
import type { Hashed, HashedGroup, RoleChange, StoredEntry, Visible } from '../plan/plan.js';
import { withoutSpelling } from './derived-values.js';
import type { MappedGroup, MappedPerson } from './snapshot.js';

/**
 * Fields whose values have a fixed position in the hash, as in the first releases. All others are hashed by
 * name, and only if they have a value, so a new field changes the hash of only the entries that have it.
 */
const PERSON_PLACES = ['givenName', 'familyName', 'schoolYear', 'photo', 'picture'];
const GROUP_PLACES = ['description', 'website'];

export function hashPerson(person: MappedPerson, fields: readonly Field[]): Hashed<MappedPerson> {
  // Active people have the hash of earlier releases.
  const content = { ...person, active: person['active'] === false ? false : null };
  return { value: person, contentHash: hashContent(content, PERSON_PLACES, fields) };
}

export function hashGroup(group: MappedGroup, fields: readonly Field[]): HashedGroup {
  return {
    value: group,
    contentHash: hashContent(group, GROUP_PLACES, fields),
    referencesHash: hashes.get(group.references) ?? atOnce(hashReferences(group.references)),
  };
}

/** The hashes of references that were computed in steps, and are needed again at once. */
const hashes = new WeakMap<MappedGroup['references'], Buffer>();

/** Hashes a group that can have many members: other work of the process can run meanwhile. */
export async function hashGroupInSteps(group: MappedGroup, fields: readonly Field[]): Promise<HashedGroup> {
  hashes.set(group.references, await inSteps(hashReferences(group.references)));
  return hashGroup(group, fields);
}

/** Hashes the JSON text of the references, in the order of their keys. */
function* hashReferences(references: MappedGroup['references']): Steps<Buffer> {
  const hash = createHash('sha256').update('[');
  let separator = '';
  for (const keys of inOrder([...references.keys()])) {
    // The key of a DN has no character that JSON escapes.
    const textOf = (key: string) => (isKeyOfDn(key) ? `"${key}"` : JSON.stringify(key));
    const pairs = keys.sort().map((key) => `[${textOf(key)},${references.get(key) ?? ''}]`);
    hash.update(`${separator}${pairs.join(',')}`);
    separator = ',';
    yield;
  }
  return hash.update(']').digest();
}

/** Number of keys that are sorted in one step. */
const SORTED_PER_STEP = 1000;

/** Returns parts in the order of their keys. The keys in each part are not in order. */
function inOrder(keys: string[]): string[][] {
  if (keys.length <= SORTED_PER_STEP) return keys.length === 0 ? [] : [keys];
  const parts = new Map<string, string[]>();
  for (const key of keys) {
    // A UUID, or a prefix and a value: see referenceKeyOf.
    const start = key.slice(0, key.indexOf(':') + 2);
    const part = parts.get(start);
    if (part === undefined) parts.set(start, [key]);
    else part.push(key);
  }
  return [...parts].sort(byFirst).map(([, part]) => part);
}

/** Matches letters that earlier releases folded differently, forms that decompose to them, and escaped bytes. */
const FOLDED_OTHERWISE = /[İΣϹ\u{1d6ba}\u{1d6f4}\u{1d72e}\u{1d768}\u{1d7a2}]|\\[89a-fA-F][\da-fA-F]/u;

/** The first half is that of the values as they are compared, and thus equal for all their spellings. */
function hashContent(entry: MappedPerson, places: readonly string[], fields: readonly Field[]): Buffer {
  const compared = hashExact(withoutSpelling(fields, entry), places);
  return Buffer.concat([compared.subarray(0, 16), hashExact(entry, places).subarray(16)]);
}

/** SQL: whether the content hashes before and after a change differ only in the spelling of values. */
export function isRespelled(before: string, after: string): string {
  return `(${before} <> ${after} and substring(${before} for 16) = substring(${after} for 16))`;
}

function hashExact(entry: MappedPerson, places: readonly string[]): Buffer {
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
    ...(FOLDED_OTHERWISE.test(`${dn} ${id}`) ? [FOLDING_VERSION] : []),
  ]);
}

function hashed(value: unknown): unknown {
  return Buffer.isBuffer(value) ? value.toString('hex') : (value ?? null);
}

/**
 * The hash that identifies a plan: SHA-256, in hexadecimal. Items are hashed one by one, in the order of their entryUUIDs,
 * because a first run has hundreds of thousands of roles.
 */
export class PlanHash {
  private readonly hash = createHash('sha256');

  addHashed(uuid: string, contentHash: Buffer): void {
    this.hash.update(uuid).update(contentHash);
  }

  addGone(uuid: string): void {
    this.hash.update(uuid);
  }

  addRole({ group, subject, before, after }: RoleChange): void {
    this.hash.update(`${group} ${subject} ${before ?? 0} ${after ?? 0}`);
  }

  endList(): void {
    this.hash.update(END_OF_LIST);
  }

  digest(): string {
    return this.hash.digest('hex');
  }
}

export function hashPlan(plan: Visible): string {
  const hash = new PlanHash();
  const addHashed = (changes: readonly Hashed<{ uuid: string }>[]) => {
    const uuids = changes.map(({ value, contentHash }) => [value.uuid, contentHash] as const).sort(byFirst);
    for (const [uuid, contentHash] of uuids) hash.addHashed(uuid, contentHash);
    hash.endList();
  };
  const addGone = (entries: readonly StoredEntry[]) => {
    for (const uuid of entries.map((entry) => entry.uuid).sort()) hash.addGone(uuid);
    hash.endList();
  };
  const addRoles = (changes: readonly RoleChange[]) => {
    for (const change of [...changes].sort(byGroupAndSubject)) hash.addRole(change);
    hash.endList();
  };
  addHashed(plan.createdPeople);
  addHashed(plan.updatedPeople);
  addGone(plan.deletedPeople);
  addHashed(plan.createdGroups);
  addHashed(plan.updatedGroups);
  addGone(plan.deletedGroups);
  addRoles(plan.memberships);
  addRoles(plan.nestings);
  return hash.digest();
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
  return hash('sha256', JSON.stringify(value), 'buffer');
}
