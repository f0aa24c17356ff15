import { type Finding, warning } from '../../common/finding.js';
import { foldId } from '../../common/identity.js';
import type { DirectoryMapping, RoleMapping } from '../../config/model/mapping.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import { type Identified, keyOfEntry, referenceKeyOf } from '../reference-key.js';
import type { EntryKind } from '../source.js';
import { OwnReferenceStatistics } from './own-reference-statistics.js';

/** Number of entries between two progress reports. */
export const PROGRESS_INTERVAL = 1000;

/** The highest percentage of references without a mirrored entry that causes no warning. */
const TOLERATED_PERCENT = 5;

/** An entry with a usable identifier and id, reduced to the data that is needed to count references. */
type Candidate = Identified;

/** Counts the names of members in groups, and those among them that belong to no mirrored entry. */
export class ReferenceStatistics {
  private readonly candidates: Record<EntryKind, Candidate[]> = { person: [], group: [] };
  /** The number of groups that name an entry, by referenceKeyOf. */
  private readonly named = new Map<string, number>();

  private readonly own: OwnReferenceStatistics;

  constructor(private readonly mapping: DirectoryMapping) {
    this.own = new OwnReferenceStatistics(mapping);
  }

  add(kind: EntryKind, entry: Entry): void {
    const { uuid, id } = kind === 'person' ? this.mapping.users : this.mapping.groups;
    const [bytes] = entry.bytes(id);
    const text = bytes === undefined ? '' : (decodeUtf8(bytes) ?? '').trim();
    // The mirror rejects an entry without an identifier or an id, and all entries that share an id.
    const identity = uuidOfEntry(entry, uuid);
    const candidate =
      text === '' || identity === null
        ? null
        : { uuid: identity, dnKey: keyOfDn(entry.dn), id: foldId(text) };
    if (candidate !== null) this.candidates[kind].push(candidate);
    this.own.add(kind, entry, candidate);
    if (kind === 'group') this.addReferences(entry);
  }

  /**
   * A warning when the share of dangling references suggests that memberships are missing. It contains no
   * names.
   */
  *findings(): Generator<Finding> {
    yield* this.own.findings();
    const mirrored = new Set([...this.keysOf('person'), ...this.keysOf('group')]);
    let total = 0;
    let dangling = 0;
    for (const [key, count] of this.named) {
      total += count;
      if (!mirrored.has(key)) dangling += count;
    }
    if (dangling * 100 <= total * TOLERATED_PERCENT) return;
    const percent = Math.floor((dangling * 1000) / total) / 10;
    yield warning(
      'references',
      `${dangling} of ${total} DNs in groups (${percent} %) name no mirrored entry, and are ignored`,
    );
  }

  private addReferences(entry: Entry): void {
    const keys = new Set<string>();
    for (const { attributes, by } of this.roles) {
      for (const bytes of attributes.flatMap((attribute) => entry.bytes(attribute))) {
        const text = decodeUtf8(bytes);
        const key = text === null ? null : referenceKeyOf(by, text);
        if (key !== null) keys.add(key);
      }
    }
    for (const key of keys) this.named.set(key, (this.named.get(key) ?? 0) + 1);
  }

  private get roles(): readonly RoleMapping[] {
    const { members, admins, owners } = this.mapping.groups;
    return [members, admins, owners];
  }

  /** The keys of the entries whose id is unique in their kind. */
  private keysOf(kind: EntryKind): string[] {
    const candidates = this.candidates[kind];
    const counts = new Map<string, number>();
    for (const { id } of candidates) counts.set(id, (counts.get(id) ?? 0) + 1);
    const kinds = new Set(this.roles.map(({ by }) => by));
    return candidates
      .filter(({ id }) => counts.get(id) === 1)
      .flatMap((entry) => [...kinds].flatMap((by) => keyOfEntry(by, kind, entry) ?? []));
  }
}
