import type { EntityManager } from 'typeorm';
import { foldId } from '../common/fold.js';
import type { DirectoryMapping } from '../config/config.js';
import { decodeUtf8, type Entry } from '../ldap/entry.js';
import type { EntryKind } from '../sources/source.js';
import { readClaimedIds, readClaims } from './stored.js';

/** What has changed in a directory since it was last read, by entryUUID. */
export interface Delta {
  readonly people: ReadonlyMap<string, Entry>;
  readonly groups: ReadonlyMap<string, Entry>;
  /** Who is no longer there, or is no longer one of the people. */
  readonly gonePeople: ReadonlySet<string>;
  readonly goneGroups: ReadonlySet<string>;
}

/** Gathers what has changed: of an entry that changes more than once, the last word counts. */
export class DeltaBuilder implements Delta {
  readonly people = new Map<string, Entry>();
  readonly groups = new Map<string, Entry>();
  readonly gonePeople = new Set<string>();
  readonly goneGroups = new Set<string>();

  put(kind: EntryKind, uuid: string, entry: Entry): void {
    const [entries, gone] = this.of(kind);
    gone.delete(uuid);
    entries.set(uuid, entry);
  }

  remove(kind: EntryKind, uuid: string): void {
    const [entries, gone] = this.of(kind);
    entries.delete(uuid);
    gone.add(uuid);
  }

  get isEmpty(): boolean {
    return this.size === 0;
  }

  get size(): number {
    return this.people.size + this.groups.size + this.gonePeople.size + this.goneGroups.size;
  }

  private of(kind: EntryKind): [Map<string, Entry>, Set<string>] {
    return kind === 'person' ? [this.people, this.gonePeople] : [this.groups, this.goneGroups];
  }
}

/** Reads entries anew, by entryUUID; those that are not there any more are left out. */
export type ReadAgain = (
  uuids: readonly string[],
) => Promise<readonly { kind: EntryKind; uuid: string; entry: Entry }[]>;

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
    const covered = new Set([
      ...delta.people.keys(),
      ...delta.groups.keys(),
      ...delta.gonePeople,
      ...delta.goneGroups,
    ]);
    const ids = [
      ...idsOf(delta.people, mapping.people.id),
      ...idsOf(delta.groups, mapping.groups.id),
      ...(await readClaimedIds(manager, [...covered])),
    ];
    const others = (await readClaims(manager, [...new Set(ids)])).filter((uuid) => !covered.has(uuid));
    if (others.length === 0) return;
    const found = await readAgain(others);
    for (const { kind, uuid, entry } of found) delta.put(kind, uuid, entry);
    const there = new Set(found.map(({ uuid }) => uuid));
    for (const uuid of others) {
      if (there.has(uuid)) continue;
      delta.remove('person', uuid);
      delta.remove('group', uuid);
    }
  }
}

function idsOf(entries: ReadonlyMap<string, Entry>, attribute: string): string[] {
  return [...entries.values()].flatMap((entry) => {
    const [bytes] = entry.bytes(attribute);
    const id = bytes === undefined ? null : decodeUtf8(bytes);
    return id === null || id.includes('\0') ? [] : [foldId(id.trim())];
  });
}
