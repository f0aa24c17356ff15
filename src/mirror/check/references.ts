import { type Finding, ok, warning } from '../../common/finding.js';
import { foldId } from '../../common/identity.js';
import { mappingOf, type NamedBy } from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { type ReferenceField, referenceFields } from '../../database/fields/field-references.js';
import type { Entry } from '../../ldap/entry.js';
import { keysOfEntry, waysOfNaming } from '../map/named-by.js';
import { type Identified, nameInValue, referenceKeyOf } from '../../sources/reference-key.js';
import { type EntryKind, KINDS } from '../../sources/source.js';
import { Causes, type Example, LISTS, type Origin } from './causes.js';

/** The largest number of distinct values whose text is kept, to find the cause of references that name no entry. */
const MOST_TEXTS = 20_000;
/** The largest number of values of each origin that are looked up. */
const MOST_LOOKED_UP = 20;
/** The highest percentage of references without a mirrored entry that causes no warning. */
const TOLERATED_PERCENT = 5;
const NOUNS = { person: 'user', group: 'group' } as const satisfies Record<EntryKind, string>;

interface Summary {
  readonly total: number;
  readonly dangling: number;
  /** The number of values that name a mirrored entry of the other kind. They are not among the dangling ones. */
  readonly ofOtherKind: number;
  readonly examples: readonly Example[];
}

/** The references of groups, or those of one field, by what they name. */
class NamedValues {
  private readonly counts = new Map<string, number>();
  private readonly texts = new Map<string, Example>();

  constructor(
    readonly kind: EntryKind,
    readonly origins: readonly Origin[],
    /** Null: the members, admins and owners of groups. */
    readonly field: ReferenceField | null,
  ) {}

  /** Counts the values of one entry. What they name several times counts once, unless it is the value of a field. */
  add(entry: Entry): void {
    const keys: string[] = [];
    for (const origin of this.origins)
      for (const attribute of origin.attributes)
        for (const bytes of entry.bytes(attribute)) {
          const text = nameInValue(attribute, origin.by, bytes);
          if (text === null) continue;
          // A text that can name no entry has a key of its own, with which no entry is found.
          const key = referenceKeyOf(origin.by, text) ?? `none:${text}`;
          keys.push(key);
          if (this.texts.size < MOST_TEXTS && !this.texts.has(key)) this.texts.set(key, { text, origin });
        }
    for (const key of this.field === null ? new Set(keys) : keys)
      this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  summarize(mirrored: Readonly<Record<EntryKind, ReadonlySet<string>>>): Summary {
    const to = KINDS.filter((kind) => this.origins.some(({ lists }) => lists.includes(LISTS[kind])));
    const isMirrored = (key: string) => KINDS.some((kind) => mirrored[kind].has(key));
    let [total, dangling, ofOtherKind] = [0, 0, 0];
    for (const [key, count] of this.counts) {
      total += count;
      if (!isMirrored(key)) dangling += count;
      else if (!to.some((kind) => mirrored[kind].has(key))) ofOtherKind += count;
    }
    const examples = [...this.texts].filter(([key]) => !isMirrored(key)).map(([, each]) => each);
    return { total, dangling, ofOtherKind, examples };
  }
}

/** Counts what groups and the fields of the model name, and what of it no mirrored entry has. */
export class References {
  private readonly mirrored: Readonly<Record<EntryKind, Identified[]>> = { person: [], group: [] };
  private readonly named: readonly NamedValues[];

  constructor(private readonly config: Pick<DirectoryConfig, 'mapping' | 'baseDn'>) {
    const { mapping } = config;
    const { members, admins, owners } = mapping.groups;
    const fields = KINDS.flatMap((kind) =>
      referenceFields(mappingOf(mapping, kind).fields).map((field) => {
        const key = `${LISTS[kind]}.fields.${field.name}`;
        const lists = [`${field.reference.to}s`] as const;
        return new NamedValues(kind, [{ key, by: 'dn', attributes: field.attributes, lists }], field);
      }),
    );
    const roles = Object.entries({ members, admins, owners }).flatMap(([role, forms]) =>
      forms.map(({ attributes, by }, index) => {
        const key = forms.length === 1 ? `groups.${role}` : `groups.${role}[${index}]`;
        return { key, by, attributes, lists: Object.values(LISTS) };
      }),
    );
    this.named = [...fields, new NamedValues('group', roles, null)];
  }

  /** @param identity null if the mirror omits the entry, with the values of its fields */
  add(kind: EntryKind, entry: Entry, identity: Identified | null): void {
    if (identity !== null) {
      const { uuid, dnKey, id } = identity;
      this.mirrored[kind].push({ uuid, dnKey, id: foldId(id) });
    }
    for (const named of this.named)
      if (named.kind === kind && (identity !== null || named.field === null)) named.add(entry);
  }

  /**
   * How many references each field has, with a warning where many name no entry. It contains no names of entries.
   * @param sees whether the account sees the entry with a DN; null: it cannot be looked up
   */
  async findings(sees: ((dn: string) => Promise<boolean>) | null): Promise<Finding[]> {
    const { person } = this.mirrored;
    const keys = { person: this.keysOf('person'), group: this.keysOf('group') };
    const summaries = this.named.map((named) => ({ named, summary: named.summarize(keys) }));
    const known = {
      ids: new Set(person.map(({ id }) => id)),
      uuids: new Set(person.map(({ uuid }) => uuid)),
    };
    const causes = new Causes(this.config, known);
    if (sees !== null)
      for (const { summary } of summaries.filter((each) => isMostlyWrong(each.summary)))
        await causes.lookUp(summary.examples.slice(0, MOST_LOOKED_UP), sees);
    return summaries.flatMap(({ named, summary }) =>
      named.field === null
        ? this.describeMembers(summary, causes)
        : [describeField(named, named.field, summary, causes)],
    );
  }

  private describeMembers(summary: Summary, causes: Causes): Finding[] {
    const { total, dangling, examples } = summary;
    if (dangling * 100 <= total * TOLERATED_PERCENT) return [];
    const percent = Math.floor((dangling * 1000) / total) / 10;
    const names = this.ways.includes('dn') ? 'DNs' : 'names';
    const text = `${dangling} of ${total} ${names} in groups (${percent} %) name no mirrored entry, and are ignored`;
    return [warning('references', isMostlyWrong(summary) ? `${text}: ${causes.cureOf(examples)}` : text)];
  }

  private get ways(): NamedBy[] {
    return waysOfNaming(this.config.mapping.groups);
  }

  /** The keys of the entries whose id is unique in their kind: the mirror omits the others. */
  private keysOf(kind: EntryKind): Set<string> {
    const counts = new Map<string, number>();
    for (const { id } of this.mirrored[kind]) counts.set(id, (counts.get(id) ?? 0) + 1);
    const ways = [...new Set([...this.ways, 'dn' as const])];
    const unique = this.mirrored[kind].filter(({ id }) => counts.get(id) === 1);
    return new Set(unique.flatMap((entry) => keysOfEntry(kind, entry, ways)));
  }
}

/** Whether so many references dangle that the model is probably wrong: more than a fifth. */
function isMostlyWrong({ total, dangling, ofOtherKind }: Summary): boolean {
  return dangling * 5 > total - ofOtherKind;
}

/** An attribute may name users and groups, which two fields show. */
function describeField(
  { kind, origins }: NamedValues,
  { name, type, reference }: ReferenceField,
  summary: Summary,
  causes: Causes,
): Finding {
  const { total, dangling, ofOtherKind, examples } = summary;
  const named = total - dangling - ofOtherKind;
  const other = NOUNS[reference.to === 'user' ? 'group' : 'person'];
  const others = ofOtherKind === 0 ? '' : `, and ${ofOtherKind} a mirrored ${other}`;
  const text = `${LISTS[kind]}.${name}: ${named} of ${total} values name a mirrored ${reference.to}${others}`;
  if (named === 0 && ofOtherKind > 0) {
    const right = type.replace(/User|Group/, (each) => (each === 'User' ? 'Group' : 'User'));
    const written = right.startsWith('[') ? `"${right}"` : right;
    const key = origins[0]?.key ?? '';
    return warning('references', `${text}: set ${key}.type to ${written}, because its values name ${other}s`);
  }
  return isMostlyWrong(summary)
    ? warning('references', `${text}: ${causes.cureOf(examples)}`)
    : ok('references', text);
}
