import { type Finding, ok, warning } from '../../common/finding.js';
import { foldId } from '../../common/identity.js';
import { mappingOf, type NamedBy } from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { type ReferenceField, referenceFields } from '../../database/fields/projection.js';
import type { Entry } from '../../ldap/entry.js';
import { InvalidDnError, isBelow, parseDn } from '../../ldap/naming/dn.js';
import {
  type Identified,
  keysOfEntry,
  nameInValue,
  referenceKeyOf,
  waysOfNaming,
} from '../../sources/references.js';
import { type EntryKind, KINDS } from '../../sources/directory.js';

type ReferenceConfig = Pick<DirectoryConfig, 'mapping' | 'baseDn'>;

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

/** The largest number of distinct values whose text is kept, to find the cause of references that name no entry. */
const MOST_TEXTS = 20_000;
/** The highest percentage of references without a mirrored entry that causes no warning. */
const TOLERATED_PERCENT = 5;
/** The share, as one of so many, above which the model is probably wrong. */
const TOLERATED_OF_MODEL = 5;
export const NOUNS = { person: 'user', group: 'group' } as const satisfies Record<EntryKind, string>;

interface Summary {
  readonly total: number;
  readonly dangling: number;
  /** The number of values that name a mirrored entry of the other kind. They are not among the dangling ones. */
  readonly ofOtherKind: number;
  /** A value that names no mirrored entry. */
  readonly example: Example | undefined;
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
    const [, example] = [...this.texts].find(([key]) => !isMirrored(key)) ?? [];
    return { total, dangling, ofOtherKind, example };
  }
}

/** Counts what groups and the fields of the model name, and what of it no mirrored entry has. */
export class CountedReferences {
  private readonly mirrored: Readonly<Record<EntryKind, Identified[]>> = { person: [], group: [] };
  private readonly named: readonly NamedValues[];

  constructor(private readonly config: ReferenceConfig) {
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

  /** How many references each field has, with a warning where many name no entry. It contains no names of entries. */
  findings(): Finding[] {
    const keys = { person: this.keysOf('person'), group: this.keysOf('group') };
    return this.named.flatMap((named) => {
      const summary = named.summarize(keys);
      const isWrong = summary.dangling * TOLERATED_OF_MODEL > summary.total - summary.ofOtherKind;
      const cure = isWrong && summary.example !== undefined ? cureOf(summary.example, this.config) : null;
      return named.field === null
        ? this.describeMembers(summary, cure)
        : [describeField(named, named.field, summary, cure)];
    });
  }

  private describeMembers({ total, dangling }: Summary, cure: string | null): Finding[] {
    if (dangling * 100 <= total * TOLERATED_PERCENT) return [];
    const percent = Math.floor((dangling * 1000) / total) / 10;
    const names = this.ways.includes('dn') ? 'DNs' : 'names';
    const text = `${dangling} of ${total} ${names} in groups (${percent} %) name no mirrored entry, and are ignored`;
    return [warning('references', cure === null ? text : `${text}: ${cure}`)];
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

/** An attribute may name users and groups, which two fields show. */
function describeField(
  { kind, origins }: NamedValues,
  { name, type, reference }: ReferenceField,
  { total, dangling, ofOtherKind }: Summary,
  cure: string | null,
): Finding {
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
  return cure === null ? ok('references', text) : warning('references', `${text}: ${cure}`);
}

/** What to set in the model so that references find entries, from one that finds none. It contains no value. */
function cureOf({ text, origin }: Example, { mapping, baseDn }: ReferenceConfig): string {
  const { key, by, lists } = origin;
  if (isDn(text) && by !== 'dn') return `set ${key}.by to dn, because its values are DNs`;
  if (by !== 'dn')
    return `set users so that they include those whom ${key} names: users.base, users.filter, users.id`;
  // The references of fields are DNs.
  if (!isDn(text) && key.includes('.fields.'))
    return `set ${key}.type to String, because its values are no DNs`;
  if (!isDn(text))
    return `set ${key}.by to id or uuid, or ${key}.attribute to one with DNs, because its values are no DNs`;
  if (!isBelow(text, baseDn))
    return `set DIRECTORY_BASE_DN to an entry above what is named, which is not below ${baseDn}`;
  const basesOf = (list: List) => mappingOf(mapping, list === 'users' ? 'person' : 'group').bases;
  const covering = lists.filter((list) => basesOf(list).some((base) => isBelow(text, base)));
  const keysOf = (some: readonly List[], name: string) => some.map((list) => `${list}.${name}`).join(' or ');
  if (covering.length === 0)
    return `extend ${keysOf(lists, 'base')}: what is named is not below ${lists.flatMap(basesOf).join(' or ')}`;
  return `set ${keysOf(covering, 'filter')} so that it selects what is named below ${covering.flatMap(basesOf).join(' or ')}, let the account read it, or remove the DNs of deleted entries`;
}

function isDn(text: string): boolean {
  try {
    return parseDn(text).length > 0;
  } catch (error) {
    if (error instanceof InvalidDnError) return false;
    throw error;
  }
}
