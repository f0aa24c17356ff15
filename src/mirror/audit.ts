import type { DirectoryMapping } from '../config/directory.js';
import type { Writer } from '../database/writer.js';
import type { LdapConnection } from '../ldap/connection.js';
import type { Entry } from '../ldap/entry.js';
import { KINDS, type LdapDirectory } from '../sources/ldap-directory.js';
import type { EntryKind } from '../sources/source.js';
import { mapGroup } from './map.js';
import { hashGroup } from './plan-hash.js';
import { readKnown, readStoredDns, readStoredEntries } from './stored.js';

/** An entry that is not as it is mirrored; null: it is gone. */
export interface Difference {
  readonly kind: EntryKind;
  readonly uuid: string;
  readonly entry: Entry | null;
}

/** Entries that are read again at once: each may have a picture of megabytes. */
const AT_ONCE = 20;

/** Compares a directory with the mirror, as far as no message of the server tells what has changed. */
export class Audit {
  constructor(
    private readonly manager: Writer,
    private readonly directory: LdapDirectory,
    private readonly connection: LdapConnection,
    private readonly mapping: DirectoryMapping,
  ) {}

  /**
   * Which entries there are, and where: those that the server hides or shows of a sudden, those below something that was
   * renamed, and, where changes are looked for by their time, those that are gone. Between two differences nothing
   * is under way on the connection.
   * @param groupsThoroughly compares all of what groups are: see findConsequences
   */
  async *find({ groupsThoroughly }: { groupsThoroughly: boolean }): AsyncGenerator<Difference> {
    const changed = new Set<string>();
    for (const kind of KINDS) {
      // The mirror first: what comes between the two is new, and what is missing from the second has really gone.
      const stored = await readStoredDns(this.manager, kind);
      const known = await readKnown(this.manager, kind);
      const present = await this.directory.listPresent(this.connection, kind);
      const aside = new Set(known.filter((uuid) => !stored.has(uuid)));
      for (const uuid of known) if (!present.has(uuid)) yield { kind, uuid, entry: null };
      for (const [uuid, dnKey] of present) {
        if (stored.get(uuid) !== dnKey && !aside.has(uuid)) changed.add(uuid);
      }
      if (kind !== 'group' || !groupsThoroughly) continue;
      for (const uuid of await this.findChangedGroups([...stored.keys()])) changed.add(uuid);
    }
    const uuids = [...changed];
    for (let start = 0; start < uuids.length; start += AT_ONCE) {
      yield* await this.directory.readAgain(this.connection, uuids.slice(start, start + AT_ONCE));
    }
  }

  /** Of groups that are mirrored, those that are not as they are mirrored. */
  private async findChangedGroups(uuids: readonly string[]): Promise<string[]> {
    const { groups } = await readStoredEntries(this.manager, { people: [], groups: uuids });
    const changed: string[] = [];
    for await (const { uuid, entry } of this.directory.readGroups(this.connection)) {
      const row = groups.get(uuid);
      if (row === undefined) continue;
      const { value } = mapGroup(entry, this.mapping.groups);
      const hashed = value === null ? null : hashGroup(value);
      const isSame =
        hashed?.contentHash.equals(row.contentHash) === true &&
        hashed.referencesHash.equals(row.referencesHash);
      if (!isSame) changed.push(uuid);
    }
    return changed;
  }
}
