import { type Finding, warning } from '../../common/finding.js';
import { foldId } from '../../common/fold.js';
import type { DirectoryMapping } from '../../config/settings/directory.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import type { EntryKind } from '../source.js';

/** Of this share of references, in percent, a directory may have lost track without a word. */
const TOLERATED_PERCENT = 5;

/** An entry with a usable id of its own, as far as it counts for references. */
interface Candidate {
  readonly dnKey: string;
  readonly id: string;
}

/** Counts the DNs in groups, and those of them behind which no entry is mirrored. */
export class ReferenceTally {
  private readonly candidates: Record<EntryKind, Candidate[]> = { person: [], group: [] };
  /** How many groups name a DN, by keyOfDn. */
  private readonly named = new Map<string, number>();

  constructor(private readonly mapping: DirectoryMapping) {}

  add(kind: EntryKind, entry: Entry): void {
    const { uuid, id } = kind === 'person' ? this.mapping.people : this.mapping.groups;
    const [bytes] = entry.bytes(id);
    const text = bytes === undefined ? '' : (decodeUtf8(bytes) ?? '').trim();
    // Without an identity or an id the entry is put aside, and so are all entries with one id.
    if (text !== '' && uuidOfEntry(entry, uuid) !== null)
      this.candidates[kind].push({ dnKey: keyOfDn(entry.dn), id: foldId(text) });
    if (kind === 'group') this.addReferences(entry);
  }

  /** A warning when so many references name nothing that memberships are missing; says nothing of who or where. */
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
      `${dangling} of ${total} DNs in groups (${percent} %) name nobody who is mirrored, and count for nothing`,
    );
  }

  private addReferences(entry: Entry): void {
    const { member, admin, owner } = this.mapping.groups;
    const values = [member, admin, owner].flatMap((attribute) => entry.bytes(attribute));
    const dns = values.map(decodeUtf8).filter((dn) => dn !== null);
    for (const dnKey of new Set(dns.map(keyOfDn))) this.named.set(dnKey, (this.named.get(dnKey) ?? 0) + 1);
  }
}

/** The DNs, by keyOfDn, of those whose id no other entry of their kind has. */
function mirroredOf(candidates: readonly Candidate[]): string[] {
  const counts = new Map<string, number>();
  for (const { id } of candidates) counts.set(id, (counts.get(id) ?? 0) + 1);
  return candidates.filter(({ id }) => counts.get(id) === 1).map(({ dnKey }) => dnKey);
}
