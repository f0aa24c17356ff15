import { type Finding, warning } from '../../common/finding.js';
import { foldId } from '../../common/fold.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import type { EntryKind } from '../source.js';

/** Number of entries between two progress reports. */
export const PROGRESS_INTERVAL = 1000;

/** The highest percentage of references without a mirrored entry that causes no warning. */
const TOLERATED_PERCENT = 5;

/** An entry with a usable identifier and id, reduced to the data that is needed to count references. */
interface Candidate {
  readonly dnKey: string;
  readonly id: string;
}

/** Counts the DNs in groups, and the DNs among them that belong to no mirrored entry. */
export class ReferenceStatistics {
  private readonly candidates: Record<EntryKind, Candidate[]> = { person: [], group: [] };
  /** The number of groups that refer to a DN, by keyOfDn. */
  private readonly named = new Map<string, number>();

  constructor(private readonly mapping: DirectoryMapping) {}

  add(kind: EntryKind, entry: Entry): void {
    const { uuid, id } = kind === 'person' ? this.mapping.users : this.mapping.groups;
    const [bytes] = entry.bytes(id);
    const text = bytes === undefined ? '' : (decodeUtf8(bytes) ?? '').trim();
    // The mirror rejects an entry without an identifier or an id, and all entries that share an id.
    if (text !== '' && uuidOfEntry(entry, uuid) !== null)
      this.candidates[kind].push({ dnKey: keyOfDn(entry.dn), id: foldId(text) });
    if (kind === 'group') this.addReferences(entry);
  }

  /**
   * A warning when the share of dangling references suggests that memberships are missing. It contains no
   * names.
   */
  *findings(): Generator<Finding> {
    const mirrored = new Set([...mirroredOf(this.candidates.person), ...mirroredOf(this.candidates.group)]);
    let total = 0;
    let dangling = 0;
    for (const [dnKey, count] of this.named) {
      total += count;
      if (!mirrored.has(dnKey)) dangling += count;
    }
    if (dangling * 100 <= total * TOLERATED_PERCENT) return;
    const percent = Math.floor((dangling * 1000) / total) / 10;
    yield warning(
      'references',
      `${dangling} of ${total} DNs in groups (${percent} %) name no mirrored entry, and are ignored`,
    );
  }

  private addReferences(entry: Entry): void {
    const { member, admin, owner } = this.mapping.groups;
    const values = [member, admin, owner].flatMap((attribute) => entry.bytes(attribute));
    const dns = values.map(decodeUtf8).filter((dn) => dn !== null);
    for (const dnKey of new Set(dns.map(keyOfDn))) this.named.set(dnKey, (this.named.get(dnKey) ?? 0) + 1);
  }
}

/** The DNs, by keyOfDn, of the entries whose id is unique in their kind. */
function mirroredOf(candidates: readonly Candidate[]): string[] {
  const counts = new Map<string, number>();
  for (const { id } of candidates) counts.set(id, (counts.get(id) ?? 0) + 1);
  return candidates.filter(({ id }) => counts.get(id) === 1).map(({ dnKey }) => dnKey);
}
