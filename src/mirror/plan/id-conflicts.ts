import type { EntityManager } from 'typeorm';
import { foldId } from '../../common/identity.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import type { DeltaBuilder } from '../../sources/delta.js';
import type { KnownEntry } from '../../sources/ldap/listed-entries.js';
import { KINDS } from '../../sources/source.js';
import { readWithIds, readStoredEntries } from './stored.js';

/** Reads entries again, by entryUUID. Entries that no longer exist are not in the result. */
type ReadAgain = (uuids: readonly string[]) => Promise<readonly KnownEntry[]>;

type Identity = Pick<KnownEntry, 'kind' | 'uuid'>;

/** Maximum number of rounds in which id conflicts lead to further ones. No real directory needs more. */
const ROUNDS = 10;

/**
 * Adds the entries that claim an id that a changed entry claims or has released. Ids are unique, so these
 * entries enter or leave the quarantine with it.
 */
export async function withIdConflicts(
  delta: DeltaBuilder,
  manager: EntityManager,
  mapping: DirectoryMapping,
  readAgain: ReadAgain,
): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const missing = await findMissing(delta, manager, mapping);
    if (missing.length === 0) return;
    await addReadAgain(delta, missing, readAgain);
  }
}

/** Reads entries again and adds their current state. Entries that no longer exist are added as removed. */
export async function addReadAgain(
  delta: DeltaBuilder,
  wanted: readonly Identity[],
  readAgain: ReadAgain,
): Promise<void> {
  const found = await readAgain(wanted.map(({ uuid }) => uuid));
  for (const { kind, uuid } of wanted) {
    const there = found.find((each) => each.kind === kind && each.uuid === uuid);
    if (there === undefined) delta.remove(kind, uuid);
    else delta.put(kind, uuid, there.entry);
  }
}

/** Returns the entries of a change that claim the same id, if a mirrored entry would lose that id. */
export async function findWithSameId(
  delta: DeltaBuilder,
  manager: EntityManager,
  mapping: DirectoryMapping,
): Promise<Identity[]> {
  const claims = {
    person: repeatedClaims(delta.people, mapping.users.id),
    group: repeatedClaims(delta.groups, mapping.groups.id),
  };
  const stored = await readStoredEntries(manager, {
    people: claims.person.flat(),
    groups: claims.group.flat(),
  });
  const rows = { person: stored.people, group: stored.groups };
  return KINDS.flatMap((kind) =>
    claims[kind]
      .filter((uuids) => uuids.some((uuid) => rows[kind].has(uuid)))
      .flatMap((uuids) => uuids.map((uuid) => ({ kind, uuid }))),
  );
}

/** The entryUUIDs of the entries that claim an id, for each id that several claim. */
function repeatedClaims(entries: ReadonlyMap<string, Entry>, idAttribute: string): string[][] {
  const claims = new Map<string, string[]>();
  for (const [uuid, entry] of entries) {
    const id = idOf(entry, idAttribute);
    if (id !== null) claims.set(id, [...(claims.get(id) ?? []), uuid]);
  }
  return [...claims.values()].filter(({ length }) => length > 1);
}

/** Returns the entries that claim an id in question and are not yet part of the change. */
async function findMissing(
  delta: DeltaBuilder,
  manager: EntityManager,
  { users, groups }: DirectoryMapping,
): Promise<Identity[]> {
  const attributes = { person: users.id, group: groups.id };
  const covered = KINDS.flatMap((kind) => {
    const { entries, gone } = delta.of(kind);
    return [...entries.keys(), ...gone].map((uuid) => ({ kind, uuid }));
  });
  if (covered.length === 0) return [];
  const ids = KINDS.flatMap((kind) =>
    idsOf(delta.of(kind).entries, attributes[kind]).map((id) => ({ kind, id })),
  );
  const others = await readWithIds(manager, ids, covered);
  return others.filter(({ kind, uuid }) => {
    const { entries, gone } = delta.of(kind);
    return !entries.has(uuid) && !gone.has(uuid);
  });
}

function idsOf(entries: ReadonlyMap<string, Entry>, attribute: string): string[] {
  return [...entries.values()].map((entry) => idOf(entry, attribute)).filter((id) => id !== null);
}

function idOf(entry: Entry, attribute: string): string | null {
  const [bytes] = entry.bytes(attribute);
  const id = bytes === undefined ? null : decodeUtf8(bytes);
  return id === null || id.includes('\0') ? null : foldId(id.trim());
}
