import { type Finding, ok, warning } from '../../common/finding.js';
import { foldId } from '../../common/identity.js';
import { mappingOf, type NamedBy } from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { type ReferenceField, referenceFields } from '../../database/fields/projection.js';
import type { Entry } from '../../ldap/entry.js';
import { escapeDnValue, InvalidDnError, isBelow, parseDn } from '../../ldap/naming/dn.js';
import { type Identified, nameInValue, referenceKeyOf } from '../../sources/references.js';
import { type EntryKind, KINDS } from '../../sources/source.js';
import { keysOfEntry, waysOfNaming } from '../map/named-by.js';

/** The lists of the model. */
export const LISTS = { person: 'users', group: 'groups' } as const satisfies Record<EntryKind, string>;
type List = (typeof LISTS)[EntryKind];

/** Where references are read from, as a key of the model. */
interface Origin {
  readonly key: string;
  readonly by: NamedBy;
  readonly attributes: readonly string[];
  /** The lists of the model that have what the values name. */
  readonly lists: readonly List[];
}

/** A text that names no mirrored entry. */
interface Example {
  readonly text: string;
  readonly origin: Origin;
}

/** The folded ids, and the UUIDs, of the mirrored users. */
interface KnownUsers {
  readonly ids: ReadonlySet<string>;
  readonly uuids: ReadonlySet<string>;
}

/** Types of the relative DNs of containers. Others can be personal. */
const CONTAINERS: readonly string[] = ['ou', 'o', 'cn', 'dc', 'l', 'st', 'c'];

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

/** Finds what to set in the model so that references find entries. */
class Causes {
  /** Whether the account sees the entries that some values name. */
  private readonly seen = new Map<string, boolean>();

  constructor(
    private readonly config: Pick<DirectoryConfig, 'mapping' | 'baseDn'>,
    private readonly users: KnownUsers,
  ) {}

  /** Looks up what is named in vain, to distinguish what the model leaves out from what the account does not see. */
  async lookUp(examples: readonly Example[], sees: (dn: string) => Promise<boolean>): Promise<void> {
    for (const { text } of examples) this.seen.set(text, isDn(text) && (await sees(text)));
  }

  /** The cure for the cause of most examples. It contains no value. */
  cureOf(examples: readonly Example[]): string {
    const counts = new Map<string, number>();
    const lookedUp = examples.filter(({ text }) => this.seen.has(text));
    for (const example of lookedUp.length === 0 ? examples : lookedUp) {
      const cure = this.cureOfOne(example);
      counts.set(cure, (counts.get(cure) ?? 0) + 1);
    }
    const [[most] = ['']] = [...counts].sort(([, left], [, right]) => right - left);
    return most;
  }

  private cureOfOne({ text, origin }: Example): string {
    const other = this.otherName(text, origin.by);
    if (other !== null) return cureOfName(origin, other);
    if (origin.by === 'dn') return this.cureOfDn(text, origin);
    const keys = origin.by === 'id' ? 'users.base, users.filter and users.id' : 'users.base and users.filter';
    return `set ${keys} so that they select the users that ${origin.key} names`;
  }

  /** How a text names a user, if not in the way that the model says. */
  private otherName(text: string, by: NamedBy): NamedBy | 'text' | null {
    if (isDn(text)) return by === 'dn' ? null : 'dn';
    if (by !== 'id' && this.users.ids.has(foldId(text))) return 'id';
    if (by !== 'uuid' && this.users.uuids.has(text.toLowerCase())) return 'uuid';
    return by === 'dn' ? 'text' : null;
  }

  private cureOfDn(text: string, { lists }: Origin): string {
    const { baseDn } = this.config;
    if (!isBelow(text, baseDn))
      return `set DIRECTORY_BASE_DN to an entry above what is named, which is not below ${baseDn}`;
    const covering = lists.flatMap((list) => {
      const base = this.basesOf(list).find((each) => isBelow(text, each));
      return base === undefined ? [] : [{ list, base }];
    });
    const [first] = covering;
    if (first === undefined)
      return `set ${lists.map((list) => `${list}.base to ${this.describeBases(list, text)}`).join(', or ')}`;
    const orRemove = 'or remove the DNs of deleted entries';
    const isSeen = this.seen.get(text);
    if (isSeen === false) return `let the account read what is named below ${first.base}, ${orRemove}`;
    const filters = covering.map(({ list }) => `${list}.filter`).join(' or ');
    const selecting = `set ${filters} so that it selects what is named below ${first.base}`;
    return isSeen === true ? selecting : `${selecting}, ${orRemove}`;
  }

  private basesOf(list: List): readonly string[] {
    return mappingOf(this.config.mapping, list === 'users' ? 'person' : 'group').bases;
  }

  /** The bases of a list, relative to the base DN, and the container with the entry that is missing. */
  private describeBases(list: List, text: string): string {
    const { baseDn } = this.config;
    const relative = this.basesOf(list).map((base) =>
      base.slice(0, Math.max(0, base.length - baseDn.length - 1)),
    );
    return `[${[...relative, containerOf(text, baseDn)].map((base) => JSON.stringify(base)).join(', ')}]`;
  }
}

function cureOfName({ key }: Origin, named: NamedBy | 'text'): string {
  const what = { dn: 'DNs', id: 'ids of users', uuid: 'entryUUIDs', text: 'no DNs' }[named];
  // The references of fields are DNs.
  if (key.includes('.fields.')) return `set ${key}.type to String, because its values are ${what}`;
  return named === 'text'
    ? `set ${key}.attribute to an attribute with DNs, because the values of this one are not DNs`
    : `set ${key}.by to ${named}, because its values are ${what}`;
}

/** The container directly below the base DN that has an entry; empty for the base DN. */
function containerOf(text: string, baseDn: string): string {
  const rdns = parseDn(text);
  const depth = rdns.length - parseDn(baseDn).length;
  const [pair] = depth < 2 ? [] : (rdns[depth - 1] ?? []);
  if (pair === undefined || typeof pair.value !== 'string') return '';
  return CONTAINERS.includes(pair.type.toLowerCase()) ? `${pair.type}=${escapeDnValue(pair.value)}` : '';
}

function isDn(text: string): boolean {
  try {
    return parseDn(text).length > 0;
  } catch (error) {
    if (error instanceof InvalidDnError) return false;
    throw error;
  }
}
