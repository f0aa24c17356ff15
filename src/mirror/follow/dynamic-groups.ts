import { chunksOf } from '../../common/chunks.js';
import { inSteps } from '../../common/steps.js';
import { READ_TOGETHER } from '../../sources/ldap/ldap-directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import type { DeltaBuilder } from '../../sources/delta.js';
import { isDynamicGroup } from '../../sources/ldap/dynamic-group.js';
import type { FollowDependencies } from './follow-dependencies.js';
import { addReadAgain } from '../plan/id-conflicts.js';
import { mapGroupInSteps } from '../map/map.js';
import { hashGroupInSteps } from '../map/content-hash.js';
import { readStoredEntries } from '../plan/stored.js';
import { withStoredUsers } from '../plan/stored-naming.js';

/** The next reading of all dynamic groups waits for this multiple of the duration of the last one. */
const GROUPS_REST_FACTOR = 9;
const LONGEST_REST_MS = 30_000;

/**
 * Groups whose members the server finds by its own search (OpenLDAP's overlay dynlist). A content
 * synchronization message about such a group has no members, and a change of a person changes the members
 * without a message. Therefore these groups are read only by searches: when a message names one, and when any
 * other entry has changed.
 */
export class DynamicGroups {
  /** entryUUIDs of the dynamic groups, or null before the first search for them. */
  private known: Set<string> | null = null;
  /** Whether any entry has changed since all dynamic groups were read. */
  private isStale = false;
  /** Time of the next allowed reading, on the clock of performance.now(). */
  private restsUntil = -Infinity;

  constructor(
    private readonly dependencies: FollowDependencies,
    private readonly connection: LdapConnection,
  ) {}

  /** Milliseconds until the groups have to be read, or Infinity if nothing has changed. */
  get delay(): number {
    return this.isStale ? Math.max(0, this.restsUntil - performance.now()) : Infinity;
  }

  /** Adds the current state of dynamic groups to a change that contains them or may affect their members. */
  async addTo(delta: DeltaBuilder): Promise<void> {
    const { directory } = this.dependencies;
    this.known ??= new Set(await directory.listDynamicGroups(this.connection));
    const reported = [...delta.groups].filter(([, entry]) => isDynamicGroup(entry)).map(([uuid]) => uuid);
    for (const uuid of [...delta.groups.keys(), ...delta.goneGroups]) this.known.delete(uuid);
    for (const uuid of reported) this.known.add(uuid);
    if (this.known.size === 0) {
      this.isStale = false;
      return;
    }
    const changes = [delta.people, delta.groups, delta.gonePeople, delta.goneGroups];
    this.isStale ||= changes.some(({ size }) => size > 0);
    const readAgain = (uuids: readonly string[]) => directory.readAgain(this.connection, uuids);
    const named = reported.map((uuid) => ({ kind: 'group', uuid }) as const);
    await addReadAgain(delta, named, readAgain);
    if (this.delay > 0) return;
    const begun = performance.now();
    this.isStale = false;
    const others = [...this.known].filter((uuid) => !reported.includes(uuid));
    await this.addChanged(delta, others);
    const ended = performance.now();
    this.restsUntil = ended + Math.min((ended - begun) * GROUPS_REST_FACTOR, LONGEST_REST_MS);
  }

  private async addChanged(delta: DeltaBuilder, uuids: readonly string[]): Promise<void> {
    const { directory, manager, config } = this.dependencies;
    for (const some of chunksOf(uuids, READ_TOGETHER)) {
      const { groups } = await readStoredEntries(manager, { people: [], groups: some });
      for (const { kind, uuid, entry } of await directory.readAgain(this.connection, some)) {
        if (kind !== 'group') continue;
        const { value } = await inSteps(mapGroupInSteps(entry, config.mapping.groups));
        const row = groups.get(uuid);
        const group = value === null ? null : await withStoredUsers(manager, config.mapping, value);
        const hashed = group === null ? null : await hashGroupInSteps(group, []);
        if (hashed === null || row?.referencesHash.equals(hashed.referencesHash) !== true)
          delta.put(kind, uuid, entry);
      }
    }
  }
}
