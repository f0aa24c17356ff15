import { type Finding, warning } from '../../common/finding.js';
import { foldId } from '../../common/identity.js';
import { mappingOf } from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import { type Identified, keyOfEntry, nameInValue } from '../reference-key.js';
import type { EntryKind } from '../source.js';
import { cureOfDangling, type KnownEntries, lookUp } from './dangling-cause.js';
import { isMostlyWrong, type NamedSummary, NamedValues } from './named-values.js';
import { OwnReferenceStatistics } from './own-reference-statistics.js';

/** Number of entries between two progress reports. */
export const PROGRESS_INTERVAL = 1000;

/** The highest percentage of references without a mirrored entry that causes no warning. */
const TOLERATED_PERCENT = 5;

/** Members are users and groups. */
const LISTS = ['users', 'groups'] as const;

/** An entry with a usable identifier and id, reduced to the data that is needed to count references. */
type Candidate = Identified;

/** Counts the names of members in groups, and those among them that belong to no mirrored entry. */
export class ReferenceStatistics {
  private readonly candidates: Record<EntryKind, Candidate[]> = { person: [], group: [] };
  private readonly named = new NamedValues();
  private readonly own: OwnReferenceStatistics;
  private seen: ReadonlyMap<string, boolean> = new Map();

  constructor(private readonly config: Pick<DirectoryConfig, 'mapping' | 'baseDn'>) {
    this.own = new OwnReferenceStatistics(config.mapping);
  }

  add(kind: EntryKind, entry: Entry): void {
    const { uuid, id } = mappingOf(this.config.mapping, kind);
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
   * Looks up what is named in vain, to distinguish what the model leaves out from what the account does not see.
   * @param sees whether the account sees the entry with a DN
   */
  async lookUp(sees: (dn: string) => Promise<boolean>): Promise<void> {
    const summary = this.summarize();
    const examples = isMostlyWrong(summary) ? [summary.examples] : [];
    this.seen = await lookUp([...examples, ...this.own.examples], sees);
  }

  /**
   * A warning when the share of dangling references suggests that memberships are missing. It contains no
   * names.
   */
  *findings(): Generator<Finding> {
    const { known } = this;
    yield* this.own.findings(known);
    const summary = this.summarize();
    const { total, dangling, examples } = summary;
    if (dangling * 100 <= total * TOLERATED_PERCENT) return;
    const percent = Math.floor((dangling * 1000) / total) / 10;
    const text = `${dangling} of ${total} ${this.hasDns ? 'DNs' : 'names'} in groups (${percent} %) name no mirrored entry, and are ignored`;
    yield warning(
      'references',
      isMostlyWrong(summary) ? `${text}: ${cureOfDangling(examples, known)}` : text,
    );
  }

  private summarize(): NamedSummary {
    const mirrored = new Set([...this.keysOf('person'), ...this.keysOf('group')]);
    return this.named.summarize((key) => mirrored.has(key));
  }

  private get known(): KnownEntries {
    const { person } = this.candidates;
    const ids = new Set(person.map(({ id }) => id));
    return { ...this.config, ids, uuids: new Set(person.map(({ uuid }) => uuid)), seen: this.seen };
  }

  private get hasDns(): boolean {
    return this.forms.some(({ by }) => by === 'dn');
  }

  private addReferences(entry: Entry): void {
    this.named.add(
      this.forms.flatMap(({ key, attributes, by }) =>
        attributes.flatMap((attribute) => {
          const texts = entry.bytes(attribute).flatMap((bytes) => nameInValue(attribute, by, bytes) ?? []);
          return texts.map((text) => ({ text, origin: { key, by, lists: LISTS } }));
        }),
      ),
    );
  }

  private get forms() {
    const { members, admins, owners } = this.config.mapping.groups;
    return Object.entries({ members, admins, owners }).flatMap(([role, forms]) =>
      forms.map((form, index) => ({
        key: forms.length === 1 ? `groups.${role}` : `groups.${role}[${index}]`,
        ...form,
      })),
    );
  }

  /** The keys of the entries whose id is unique in their kind. */
  private keysOf(kind: EntryKind): string[] {
    const candidates = this.candidates[kind];
    const counts = new Map<string, number>();
    for (const { id } of candidates) counts.set(id, (counts.get(id) ?? 0) + 1);
    const kinds = new Set(this.forms.map(({ by }) => by));
    return candidates
      .filter(({ id }) => counts.get(id) === 1)
      .flatMap((entry) => [...kinds].flatMap((by) => keyOfEntry(by, kind, entry) ?? []));
  }
}
