import type { DirectoryMapping } from '../../config/settings/directory.js';
import type { Writer } from '../../database/statements/writer.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import type { DeltaBuilder } from '../../sources/delta.js';
import { isDynamicGroup } from '../../sources/ldap/dynamic-group.js';
import type { LdapDirectory } from '../../sources/ldap/ldap-directory.js';
import { addAnew } from '../plan/id-conflicts.js';
import { mapGroup } from '../map/map.js';
import { hashGroup } from '../map/content-hash.js';
import { readStoredEntries } from '../plan/stored.js';

/** Groups that are read at once. */
const AT_ONCE = 20;
/** After a reading of all dynamic groups so many times its duration passes before the next one, up to milliseconds. */
const REST_FACTOR = 9;
const LONGEST_REST = 30_000;

interface Surroundings {
  readonly directory: LdapDirectory;
  readonly manager: Writer;
  readonly config: { readonly mapping: DirectoryMapping };
}

/**
 * Groups whose members the server finds by a search of its own (OpenLDAP's overlay dynlist). A message of content
 * synchronisation tells of such a group without members, and a change of a person changes the members without a
 * message or a new entryCSN. So they are read by searches only: when a message tells of them, and when anything else
 * has changed.
 */
export class DynamicGroups {
  /** By entryUUID; null: they have not been looked for yet. */
  private known: Set<string> | null = null;
  /** Something has changed since all of them were read. */
  private isStale = false;
  /** On the clock of performance.now(). */
  private restsUntil = -Infinity;

  constructor(
    private readonly surroundings: Surroundings,
    private readonly connection: LdapConnection,
  ) {}

  /** Milliseconds until it is time to read them; infinite when nothing has changed. */
  get patience(): number {
    return this.isStale ? Math.max(0, this.restsUntil - performance.now()) : Infinity;
  }

  /** Adds them to a change as they are now, where the change tells of them or may have changed their members. */
  async addTo(delta: DeltaBuilder): Promise<void> {
    const { directory } = this.surroundings;
    this.known ??= new Set(await directory.listDynamicGroups(this.connection));
    const told = [...delta.groups].filter(([, entry]) => isDynamicGroup(entry)).map(([uuid]) => uuid);
    for (const uuid of [...delta.groups.keys(), ...delta.goneGroups]) this.known.delete(uuid);
    for (const uuid of told) this.known.add(uuid);
    if (this.known.size === 0) {
      this.isStale = false;
      return;
    }
    const changes = [delta.people, delta.groups, delta.gonePeople, delta.goneGroups];
    this.isStale ||= changes.some(({ size }) => size > 0);
    const readAgain = (uuids: readonly string[]) => directory.readAgain(this.connection, uuids);
    await addAnew(
      delta,
      told.map((uuid) => ({ kind: 'group', uuid })),
      readAgain,
    );
    if (this.patience > 0) return;
    const begun = performance.now();
    this.isStale = false;
    await this.addChanged(
      delta,
      [...this.known].filter((uuid) => !told.includes(uuid)),
    );
    const ended = performance.now();
    this.restsUntil = ended + Math.min((ended - begun) * REST_FACTOR, LONGEST_REST);
  }

  /** Adds those that are not as they are mirrored. */
  private async addChanged(delta: DeltaBuilder, uuids: readonly string[]): Promise<void> {
    const { directory, manager, config } = this.surroundings;
    for (let start = 0; start < uuids.length; start += AT_ONCE) {
      const some = uuids.slice(start, start + AT_ONCE);
      const { groups } = await readStoredEntries(manager, { people: [], groups: some });
      for (const { kind, uuid, entry } of await directory.readAgain(this.connection, some)) {
        if (kind !== 'group') continue;
        const { value } = mapGroup(entry, config.mapping.groups);
        const row = groups.get(uuid);
        const isSame = value !== null && row?.referencesHash.equals(hashGroup(value).referencesHash) === true;
        if (!isSame) delta.put(kind, uuid, entry);
      }
    }
  }
}
