import type { EntityManager } from 'typeorm';
import { foldId } from '../common/fold.js';
import type { DirectoryMapping } from '../config/config.js';
import { decodeUtf8, type Entry } from '../ldap/entry.js';
import type { DeltaBuilder } from '../sources/delta.js';
import type { KnownEntry } from '../sources/ldap-directory.js';
import type { EntryKind } from '../sources/source.js';
import { readClaimants, readClaimedIds } from './stored.js';

/** Reads entries anew, by entryUUID; those that are not there any more are left out. */
export type ReadAgain = (uuids: readonly string[]) => Promise<readonly KnownEntry[]>;

/** Rounds in which claims lead to further claims; more are no directory but a riddle. */
const ROUNDS = 10;

/**
 * Adds the entries that a change also decides about: who claims an id that a changed entry claims, or gave back. Ids
 * are unique, and without those entries it could not be told who is put aside, and who comes back.
 */
export async function withClaimants(
  delta: DeltaBuilder,
  manager: EntityManager,
  mapping: DirectoryMapping,
  readAgain: ReadAgain,
): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const missing = [
      ...(await findMissing(delta, manager, 'person', mapping.people.id)),
      ...(await findMissing(delta, manager, 'group', mapping.groups.id)),
    ];
    if (missing.length === 0) return;
    const found = await readAgain(missing.map(({ uuid }) => uuid));
    for (const { kind, uuid } of missing) {
      const there = found.find((each) => each.kind === kind && each.uuid === uuid);
      if (there === undefined) delta.remove(kind, uuid);
      else delta.put(kind, uuid, there.entry);
    }
  }
}

/** The claimants of a kind that the change is not about yet. */
async function findMissing(
  delta: DeltaBuilder,
  manager: EntityManager,
  kind: EntryKind,
  idAttribute: string,
): Promise<{ kind: EntryKind; uuid: string }[]> {
  const { entries, gone } = delta.of(kind);
  const covered = [...entries.keys(), ...gone];
  if (covered.length === 0) return [];
  const ids = [...idsOf(entries, idAttribute), ...(await readClaimedIds(manager, kind, covered))];
  const claimants = await readClaimants(manager, kind, [...new Set(ids)]);
  return claimants.filter((uuid) => !entries.has(uuid) && !gone.has(uuid)).map((uuid) => ({ kind, uuid }));
}

function idsOf(entries: ReadonlyMap<string, Entry>, attribute: string): string[] {
  return [...entries.values()].flatMap((entry) => {
    const [bytes] = entry.bytes(attribute);
    const id = bytes === undefined ? null : decodeUtf8(bytes);
    return id === null || id.includes('\0') ? [] : [foldId(id.trim())];
  });
}
