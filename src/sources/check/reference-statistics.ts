import { counted } from '../../common/counted.js';
import { type Finding, ok, warning } from '../../common/finding.js';
import { formsOf, mappingOf, NAMED_BY, type NamedBy } from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { type ReferenceField, referenceFields } from '../../database/fields/field-columns.js';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import { compileFilter } from '../../ldap/filter/filter.js';
import { escapeDnValue, InvalidDnError, isBelow, parseDn } from '../../ldap/naming/dn.js';
import { keyOfDn, uuidOfEntry } from '../../ldap/naming/identifiers.js';
import { groupKeysOf, keyOfEntry, namedGroupsOf, nameInValue, referenceKeyOf } from '../references.js';
import { type EntryKind, KINDS } from '../source.js';
import type { EntryStatistics } from './entry-counts.js';

/** The highest percentage of references in groups without a mirrored entry that causes no warning. */
const TOLERATED_PERCENT = 5;
/** The largest number of distinct values whose text is kept, to find the cause of dangling references. */
const MOST_TEXTS = 20_000;

/** A value of a reference. */
interface Named {
  readonly text: string;
  /** Where it is read from, as a key of the model. */
  readonly key: string;
  readonly by: NamedBy;
}

/** The references of a custom field. An attribute may name users and groups, which two fields show. */
interface FieldReferences {
  readonly kind: EntryKind;
  readonly field: ReferenceField;
  readonly key: string;
  readonly values: NamedValues;
}

const LISTS = { person: 'users', group: 'groups' } as const satisfies Record<EntryKind, string>;
const NOUNS = { person: 'user', group: 'group' } as const satisfies Record<EntryKind, string>;

/** Counts the values of references by what they name. */
class NamedValues {
  private readonly counts = new Map<string, number>();
  private readonly texts = new Map<string, Named>();

  /** Counts the values of one entry. What they name several times counts once. */
  add(values: readonly Named[]): void {
    const keys = new Set<string>();
    for (const each of values) {
      // A text that can name no entry has a key of its own, with which no entry is found.
      const key = referenceKeyOf(each.by, each.text) ?? `none:${each.text}`;
      keys.add(key);
      if (this.texts.size < MOST_TEXTS && !this.texts.has(key)) this.texts.set(key, each);
    }
    for (const key of keys) this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  /** The number of values, and of those that name a user or a group. */
  summarize(known: ReadonlyMap<string, EntryKind>) {
    const numbers = { total: 0, person: 0, group: 0 };
    for (const [key, count] of this.counts) {
      numbers.total += count;
      const kind = known.get(key);
      if (kind !== undefined) numbers[kind] += count;
    }
    const examples = [...this.texts].filter(([key]) => !known.has(key)).map(([, each]) => each);
    return { ...numbers, dangling: numbers.total - numbers.person - numbers.group, examples };
  }
}

/** Whether so many references dangle that the model is probably wrong: more than a fifth. */
function isMostlyWrong(dangling: number, total: number): boolean {
  return dangling * 5 > total;
}

/** Counts the names of members in groups, of groups in users, and in custom fields, and those among them that belong to no mirrored entry. */
export class ReferenceStatistics implements EntryStatistics {
  /** The kinds of entries by all that can name them. */
  private readonly known = new Map<string, EntryKind>();
  private readonly members = new NamedValues();
  private readonly fields: readonly FieldReferences[];
  /** The number of users who name a group, by its key. */
  private readonly namedGroups = new Map<string, number>();
  private readonly isHidden: ((entry: Entry) => boolean)[];
  /** The keys of each group that rules hide, or whose members they hide, and of what groups without rules name. */
  private readonly hidden: (readonly string[])[] = [];
  private readonly shown = new Set<string>();

  constructor(private readonly config: Pick<DirectoryConfig, 'mapping' | 'baseDn'>) {
    const { mapping } = config;
    this.fields = KINDS.flatMap((kind) =>
      referenceFields(mappingOf(mapping, kind).fields).map((field) => {
        const key = `${LISTS[kind]}.fields.${field.name}`;
        return { kind, field, key, values: new NamedValues() };
      }),
    );
    const { rules, memberRules } = mapping.groups;
    this.isHidden = [...rules, ...memberRules].map(({ where }) => compileFilter(where));
  }

  add(kind: EntryKind, entry: Entry): void {
    const { uuid, id } = mappingOf(this.config.mapping, kind);
    const text = decodeUtf8(entry.bytes(id)[0] ?? Buffer.alloc(0))?.trim() ?? '';
    const identity = uuidOfEntry(entry, uuid);
    const dnKey = keyOfDn(entry.dn);
    const keys =
      // The mirror rejects an entry without an identifier or an id.
      text === '' || identity === null
        ? []
        : NAMED_BY.flatMap((by) => keyOfEntry(by, kind, { uuid: identity, dnKey, id: text }) ?? []);
    for (const key of keys) this.known.set(key, kind);
    for (const { field, key, values } of this.fields.filter((each) => each.kind === kind)) {
      const named = field.attributes.flatMap((attribute) => entry.bytes(attribute)).map(decodeUtf8);
      // Each value counts.
      for (const each of named) if (each !== null) values.add([{ text: each, key, by: 'dn' }]);
    }
    if (kind === 'group') this.addGroup(entry, keys);
    else
      for (const key of namedGroupsOf(entry, this.config.mapping.users.memberOf ?? []))
        this.namedGroups.set(key, (this.namedGroups.get(key) ?? 0) + 1);
  }

  private addGroup(entry: Entry, keys: readonly string[]): void {
    for (const key of groupKeysOf(entry)) this.known.set(key, 'group');
    const named = this.namesIn(entry);
    this.members.add(named);
    if (this.isHidden.length === 0) return;
    if (this.isHidden.some((matches) => matches(entry))) this.hidden.push(keys);
    else for (const { by, text } of named) this.shown.add(referenceKeyOf(by, text) ?? '');
  }

  private namesIn(group: Entry): Named[] {
    const { members, admins, owners } = this.config.mapping.groups;
    return Object.entries({ members, admins, owners }).flatMap(([role, forms]) =>
      forms.flatMap(({ attributes, by }, index) => {
        const key = forms.length === 1 ? `groups.${role}` : `groups.${role}[${index}]`;
        const textsOf = (attribute: string) =>
          group.bytes(attribute).flatMap((bytes) => nameInValue(attribute, by, bytes) ?? []);
        return attributes.flatMap(textsOf).map((text) => ({ text, key, by }));
      }),
    );
  }

  *findings(): Generator<Finding> {
    for (const each of this.fields) yield this.describeField(each);
    const { total, dangling, examples } = this.members.summarize(this.known);
    if (dangling * 100 > total * TOLERATED_PERCENT) {
      const names = formsOf(this.config.mapping.groups).some(({ by }) => by === 'dn') ? 'DNs' : 'names';
      const share = `${dangling} of ${total} ${names} in groups (${Math.floor((dangling * 1000) / total) / 10} %)`;
      const cure = isMostlyWrong(dangling, total) ? `: ${this.cureOf(examples, KINDS)}` : '';
      yield warning('references', `${share} name no mirrored entry, and are ignored${cure}`);
    }
    yield* this.findLostGroups();
    const exposed = this.hidden.filter((keys) => keys.some((key) => this.shown.has(key))).length;
    if (exposed > 0)
      yield warning(
        'visibility',
        `Outer groups without a rule show the members of ${counted(exposed, 'group')} that rules hide, or whose members they hide: give the outer groups a rule, too`,
      );
  }

  private describeField({ kind, field, key, values }: FieldReferences): Finding {
    const to = field.reference.to === 'user' ? 'person' : 'group';
    const other = to === 'person' ? 'group' : 'person';
    const summary = values.summarize(this.known);
    const { total, dangling, examples } = summary;
    const others = summary[other];
    const more = others === 0 ? '' : `, and ${others} a mirrored ${NOUNS[other]}`;
    const share = `${summary[to]} of ${total} values name a mirrored ${NOUNS[to]}${more}`;
    const text = `${LISTS[kind]}.${field.name}: ${share}`;
    if (summary[to] === 0 && others > 0) {
      const type = field.type.replace(/User|Group/, (name) => (name === 'User' ? 'Group' : 'User'));
      const written = type.startsWith('[') ? `"${type}"` : type;
      const cure = `set ${key}.type to ${written}, because its values name ${LISTS[other]}`;
      return warning('references', `${text}: ${cure}`);
    }
    return isMostlyWrong(dangling, total - others)
      ? warning('references', `${text}: ${this.cureOf(examples, [to])}`)
      : ok('references', text);
  }

  /** Groups that users name, and the directory does not list. */
  private *findLostGroups(): Generator<Finding> {
    const lost = [...this.namedGroups].filter(([key]) => this.known.get(key) !== 'group');
    const values = lost.reduce((sum, [, count]) => sum + count, 0);
    if (values === 0) return;
    const attributes = (this.config.mapping.users.memberOf ?? []).join(' and ');
    yield warning(
      'members',
      `${attributes} of users: ${counted(values, 'value')} with the name of a group that is not mirrored (${counted(lost.length, 'group')}): check groups.base and groups.filter`,
    );
  }

  /** What to set in the model so that references find entries, for the cause of most. It contains no value. */
  private cureOf(examples: readonly Named[], kinds: readonly EntryKind[]): string {
    const counts = new Map<string, number>();
    for (const example of examples) {
      const cure = this.cureOfOne(example, kinds);
      counts.set(cure, (counts.get(cure) ?? 0) + 1);
    }
    const [most] = [...counts].sort(([, left], [, right]) => right - left);
    return most?.[0] ?? '';
  }

  private cureOfOne({ text, key, by }: Named, kinds: readonly EntryKind[]): string {
    const isField = key.includes('.fields.');
    const other = NAMED_BY.find((each) => this.known.has(referenceKeyOf(each, text) ?? ''));
    const depth = depthOf(text);
    // The references of fields are DNs.
    if (isField && depth === 0) return `set ${key}.type to String, because its values are not DNs`;
    if (other !== undefined) return `set ${key}.by to ${other}, because its values are of this form`;
    if (by !== 'dn') {
      const keys = by === 'id' ? 'users.base, users.filter and users.id' : 'users.base and users.filter';
      return `set ${keys} so that they select the users that ${key} names`;
    }
    if (depth === 0)
      return `set ${key}.attribute to an attribute with DNs, because the values of this one are not DNs`;
    const { mapping, baseDn } = this.config;
    if (!isBelow(text, baseDn))
      return `set DIRECTORY_BASE_DN to an entry above what is named, which is not below ${baseDn}`;
    const covering = kinds.filter((kind) =>
      mappingOf(mapping, kind).bases.some((base) => isBelow(text, base)),
    );
    if (covering.length === 0) {
      const bases = kinds.map((kind) => `${LISTS[kind]}.base`).join(' or ');
      return `add ${containerOf(text, baseDn)} to ${bases}`;
    }
    const filters = covering.map((kind) => `${LISTS[kind]}.filter`).join(' or ');
    return `set ${filters} so that it selects what is named, let the account read it, or remove the DNs of deleted entries`;
  }
}

/** Types of the relative DNs of containers. Others can be personal. */
const CONTAINERS: readonly string[] = ['ou', 'o', 'cn', 'dc', 'l', 'st', 'c'];

/** The container directly below the base DN that has an entry. */
function containerOf(text: string, baseDn: string): string {
  const rdns = parseDn(text);
  const depth = rdns.length - parseDn(baseDn).length;
  const [pair] = depth < 2 ? [] : (rdns[depth - 1] ?? []);
  return pair !== undefined && typeof pair.value === 'string' && CONTAINERS.includes(pair.type.toLowerCase())
    ? `${pair.type}=${escapeDnValue(pair.value)}`
    : 'what is named';
}

/** The number of relative DNs of a DN; 0 for other texts. */
function depthOf(text: string): number {
  try {
    return parseDn(text).length;
  } catch (error) {
    if (error instanceof InvalidDnError) return 0;
    throw error;
  }
}
