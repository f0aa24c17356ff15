import { chunksOf } from '../../common/chunks.js';
import type { FollowDependencies } from './follow-dependencies.js';
import { mapPerson } from '../map/map.js';
import { withIdConflicts } from '../plan/id-conflicts.js';
import { findGroupsNamedOtherwise } from '../plan/stored-naming.js';
import { READ_TOGETHER } from '../../sources/ldap/ldap-directory.js';
import type { DeltaBuilder } from '../../sources/delta.js';
import type { KnownEntry } from '../../sources/ldap/listed-entries.js';

type Dependencies = Pick<FollowDependencies, 'manager' | 'config'>;
type ReadAgain = (uuids: readonly string[]) => Promise<readonly KnownEntry[]>;

/** Adds the entries whose id a changed entry claims or has released, and the groups that users of both name. */
export async function addAffectedEntries(
  delta: DeltaBuilder,
  dependencies: Dependencies,
  readAgain: ReadAgain,
): Promise<void> {
  const { manager, config } = dependencies;
  let added: number;
  do {
    await withIdConflicts(delta, manager, config.mapping, readAgain);
    const before = delta.groups.size;
    await addGroupsNamed(delta, dependencies, readAgain);
    // Ids of these groups can be in question, too.
    added = delta.groups.size - before;
  } while (added > 0);
}

/** Adds the groups that users of a change name, or do not name any more. Their own entries do not change. */
async function addGroupsNamed(
  delta: DeltaBuilder,
  { manager, config }: Dependencies,
  readAgain: ReadAgain,
): Promise<void> {
  const { users } = config.mapping;
  if (users.memberOf === undefined || delta.people.size + delta.gonePeople.size === 0) return;
  const people = [...delta.people.values()].flatMap((entry) => mapPerson(entry, users).value ?? []);
  const mapped = new Set(people.map(({ uuid }) => uuid));
  const unmapped = [...delta.people.keys()].filter((uuid) => !mapped.has(uuid));
  const named = await findGroupsNamedOtherwise(manager, people, [...unmapped, ...delta.gonePeople]);
  const missing = named.filter((uuid) => !delta.groups.has(uuid) && !delta.goneGroups.has(uuid));
  for (const some of chunksOf(missing, READ_TOGETHER))
    for (const { kind, uuid, entry } of await readAgain(some)) delta.put(kind, uuid, entry);
}
