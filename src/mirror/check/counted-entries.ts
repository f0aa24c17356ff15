import { counted } from '../../common/counted.js';
import { type Field, isMapped } from '../../common/field.js';
import { type Finding, ok, problem, warning } from '../../common/finding.js';
import { foldId } from '../../common/identity.js';
import { buildMapping } from '../../config/model/build-mapping.js';
import {
  type DirectoryMapping,
  type EntryMapping,
  hasRules,
  mappingOf,
  memberAttributesOf,
  type NamedBy,
} from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { attributeKey, type Entry } from '../../ldap/entry.js';
import { attributesOfFilter, compileFilter, parseFilter } from '../../ldap/filter/filter.js';
import { keysOfEntry } from '../../sources/references.js';
import type { EntryKind } from '../../sources/directory.js';
import type { Mapped } from '../map/entry-reader.js';
import { mapGroup, type MappedGroup, type MappedPerson, mapPerson } from '../map/map.js';
import { SAME_ID } from '../revision/staging.js';
import { LISTS, NOUNS, CountedReferences } from './counted-references.js';

/** The usual attributes of members, and how their values name entries. */
const USUAL: readonly (readonly [attribute: string, by: NamedBy])[] = [
  ['member', 'dn'],
  ['uniqueMember', 'dn'],
  ['memberUid', 'id'],
];

/** Maps the entries of a directory as the mirror does, and counts them. */
export class CountedEntries {
  private readonly kinds: Readonly<Record<EntryKind, CountedKind>>;
  private readonly references: CountedReferences;
  private readonly members: CountedMembers;

  constructor(private readonly config: Pick<DirectoryConfig, 'mapping' | 'server' | 'baseDn' | 'source'>) {
    const { mapping, server, source } = config;
    const preset = buildMapping({ server }, '');
    const kindOf = (kind: EntryKind) => new CountedKind(kind, mapping, preset, source.kind === 'ldap');
    this.kinds = { person: kindOf('person'), group: kindOf('group') };
    this.references = new CountedReferences(config);
    this.members = new CountedMembers(mapping);
  }

  /** The attributes that are needed to map and count entries of a kind. */
  attributesOf(kind: EntryKind): string[] {
    return [...this.kinds[kind].attributes, ...(kind === 'group' ? this.members.attributes : [])];
  }

  add(kind: EntryKind, entry: Entry): void {
    const { users, groups } = this.config.mapping;
    const mapped: Mapped<MappedPerson | MappedGroup> =
      kind === 'person' ? mapPerson(entry, users) : mapGroup(entry, groups);
    this.kinds[kind].add(entry, mapped);
    this.references.add(kind, entry, mapped.value);
    if (mapped.value !== null && kind === 'group') this.members.add(entry, mapped.value as MappedGroup);
  }

  totalOf(kind: EntryKind): number {
    return this.kinds[kind].total;
  }

  get total(): number {
    return this.totalOf('person') + this.totalOf('group');
  }

  /** What is known after all entries of a kind. */
  describe(kind: EntryKind): Iterable<Finding> {
    return this.kinds[kind].describe();
  }

  /** What is known only after all entries. */
  findings(): Finding[] {
    return [
      ...this.references.findings(),
      ...this.kinds.person.describeModel(),
      ...this.kinds.group.describeModel(),
      ...this.members.findings(),
    ];
  }
}

/** Counts members that the mapping cannot find, or that groups show in spite of rules. */
class CountedMembers {
  private readonly others: { readonly attribute: string; readonly by: NamedBy; groups: number }[];
  /** The keys of each group that rules hide, or whose members they hide, and those of what groups without rules name. */
  private readonly hidden: (readonly string[])[] = [];
  private readonly shown = new Set<string>();

  constructor(private readonly mapping: DirectoryMapping) {
    const mapped = memberAttributesOf(mapping.groups).map((each) => each.toLowerCase());
    this.others = USUAL.filter(([attribute]) => !mapped.includes(attribute.toLowerCase())).map(
      ([attribute, by]) => ({ attribute, by, groups: 0 }),
    );
  }

  get attributes(): string[] {
    return this.others.map(({ attribute }) => attribute);
  }

  add(entry: Entry, group: MappedGroup): void {
    if (group.visibleTo !== undefined || group.membersVisibleTo !== undefined)
      this.hidden.push(keysOfEntry('group', group, ['dn', 'uuid']));
    else if (hasRules(this.mapping)) for (const key of group.references.keys()) this.shown.add(key);
    const attributes = this.mapping.groups.members.flatMap((form) => form.attributes);
    if (attributes.some((attribute) => entry.bytes(attribute).length > 0)) return;
    for (const other of this.others) if (entry.bytes(other.attribute).length > 0) other.groups++;
  }

  *findings(): Generator<Finding> {
    for (const { attribute, by, groups } of this.others) {
      if (groups === 0) continue;
      const text = `${attribute} is not read, and alone names the members of ${counted(groups, 'group')}`;
      yield warning('members', `${text}: add {attribute: ${attribute}, by: ${by}} to groups.members`);
    }
    const exposed = this.hidden.filter((keys) => keys.some((key) => this.shown.has(key))).length;
    if (exposed > 0)
      yield warning(
        'visibility',
        `Outer groups without a rule show the members of ${counted(exposed, 'group')} that rules hide, or whose members they hide: give the outer groups a rule, too`,
      );
  }
}

const TYPES = { person: 'User', group: 'Group' } as const satisfies Record<EntryKind, string>;

/** The share of values of an attribute that do not fit, as one of so many, above which the model is probably wrong. */
const TOLERATED = 5;

/** A rule of visibility and the entries that it decides about. */
interface CountedRule {
  readonly where: string;
  readonly to: string;
  /** What belongs to what the rule hides. */
  readonly of: string;
  readonly matches: (entry: Entry) => boolean;
  hidden: number;
}

/** Counts the entries of a kind, what the mirror would quarantine of them, and what of the model they have. */
class CountedKind {
  total = 0;
  /** The number of entries that have each attribute, by attributeKey. */
  private readonly counts = new Map<string, number>();
  private readonly ids = new Map<string, number>();
  /** The number of entries of which an attribute, or with null all, is left out, by reason. */
  private readonly omitted = new Map<string | null, Map<string, number>>();
  /** The fields that the model adds, or reads from other attributes than the preset, with their number of entries. */
  private readonly fields: Map<Field, number>;
  /** In each list of rules, the first that matches decides. */
  private readonly rules: readonly (readonly CountedRule[])[];
  /** The attributes that filters of the model read, with the key of the filter. */
  private readonly filtered: ReadonlyMap<string, string>;

  /** @param isServer whether the entries are of a server, which can hide some of their attributes */
  constructor(
    private readonly kind: EntryKind,
    private readonly mapping: DirectoryMapping,
    preset: DirectoryMapping,
    private readonly isServer: boolean,
  ) {
    this.fields = new Map(namedFields(kind, mapping, preset).map((field) => [field, 0]));
    this.filtered = filteredAttributes(kind, mapping, preset);
    const { users, groups } = mapping;
    const rulesOf = (rules: EntryMapping['rules'], of = '') =>
      rules.map(({ where, to }) => ({ where, to, of, matches: compileFilter(where), hidden: 0 }));
    this.rules =
      kind === 'person'
        ? [rulesOf(users.rules)]
        : [rulesOf(groups.rules), rulesOf(groups.memberRules, 'the members of ')];
  }

  /** The attributes that are needed to map and count entries. */
  get attributes(): string[] {
    const { uuid, id, name } = mappingOf(this.mapping, this.kind);
    const ofFields = [...this.fields.keys()].flatMap(({ attributes }) => attributes);
    return [uuid, id, ...name, ...this.roleAttributes, ...ofFields, ...this.filtered.keys()];
  }

  having(attribute: string): number {
    return this.counts.get(attributeKey(attribute)) ?? 0;
  }

  add(entry: Entry, { value, quarantined }: Mapped<MappedPerson>): void {
    this.total++;
    for (const [key, values] of entry.attributes) if (values.length > 0) increment(this.counts, key);
    for (const field of this.fields.keys())
      if (field.attributes.some((each) => entry.bytes(each).length > 0)) increment(this.fields, field);
    for (const list of this.rules) {
      const rule = list.find(({ matches }) => matches(entry));
      if (rule !== undefined) rule.hidden++;
    }
    if (value !== null) increment(this.ids, foldId(value.id));
    // Of several reasons of one attribute, the first counts.
    const reasons = new Map(quarantined.toReversed().map(({ attribute, reason }) => [attribute, reason]));
    for (const [attribute, reason] of reasons) {
      const known = this.omitted.get(attribute) ?? new Map<string, number>();
      increment(known, reason);
      this.omitted.set(attribute, known);
    }
  }

  *describe(): Generator<Finding> {
    const what = LISTS[this.kind];
    const { uuid, bases, filter } = mappingOf(this.mapping, this.kind);
    const { total } = this;
    if (total === 0) {
      const none = `none below ${bases.join(' or ')} that ${this.isServer ? 'the account sees and that ' : ''}${filter} chooses`;
      yield (this.kind === 'person' ? problem : warning)(what, none, 'NONE');
      return;
    }
    yield ok(what, `${total} below ${bases.join(' and ')}`);
    const hidden = this.isServer ? total - this.having(uuid) : 0;
    if (hidden > 0) {
      const text = `${uuid} is missing, or the account may not read it, in ${hidden} of ${total} entries`;
      yield problem(what, text, 'insufficientAccessRights');
    }
    yield* this.describeOmitted(what);
    yield* this.describeRoles();
  }

  /** An attribute of which few values do not fit is not worth a warning. */
  private *describeOmitted(what: string): Generator<Finding> {
    const same = sum([...this.ids.values()].filter((count) => count > 1));
    const entries = new Map(this.omitted.get(null));
    if (same > 0) entries.set(SAME_ID, same);
    const omitted = sum(entries.values());
    if (omitted > 0) {
      const sorted = [...entries].sort(byCount);
      const share = omitted === this.total ? `all ${omitted}` : `${omitted} of ${this.total}`;
      const causes = sorted.map(([reason, count]) => `${reason} (${count})`).join(', or ');
      const text = `${share} entries would be quarantined: an entry ${causes}. Set ${this.cureOf(sorted[0]?.[0])}`;
      yield omitted === this.total ? problem(what, text) : warning(what, text);
    }
    for (const [attribute, reasons] of this.omitted) {
      if (attribute === null || sum(reasons.values()) * TOLERATED <= this.having(attribute)) continue;
      const [[reason] = ['']] = [...reasons].sort(byCount);
      const text = `${attribute} of ${sum(reasons.values())} of the ${this.having(attribute)} entries that have it would be quarantined: it ${reason}`;
      yield warning(what, `${text}. Set ${this.keyOf(attribute)}`);
    }
  }

  private *describeRoles(): Generator<Finding> {
    if (this.kind === 'person' || !this.isServer) return;
    const attributes = this.roleAttributes;
    const counts = attributes.map((each) => `${each} in ${counted(this.having(each), 'group')}`).join(', ');
    const hasNone = attributes.every((attribute) => this.having(attribute) === 0);
    const text = `${counts}: they are hidden from the account, or called otherwise`;
    yield hasNone && this.mapping.users.memberOf === undefined
      ? problem('members', text, 'insufficientAccessRights')
      : ok('members', counts);
  }

  /** The fields, rules and filters of the model, as far as there are entries. */
  *describeModel(): Generator<Finding> {
    if (this.total === 0) return;
    for (const [{ name, attributes }, count] of this.fields) {
      const text = `${TYPES[this.kind]}.${name}: ${attributes.join(' or ')} in ${count} of ${this.total} entries`;
      yield count > 0 ? ok('fields', text) : warning('fields', text);
    }
    for (const { where, to, of, hidden } of this.rules.flat())
      yield ok(
        'visibility',
        `${where} hides ${of}${counted(hidden, NOUNS[this.kind])} from others than ${to}`,
      );
    for (const [attribute, key] of this.filtered)
      if (this.having(attribute) === 0)
        yield warning(
          'filters',
          `${key} reads ${attribute}, which is in 0 of ${this.total} entries: it is misspelled, hidden from the account, or an OID or another name of an attribute`,
        );
  }

  private cureOf(reason = ''): string {
    const list = LISTS[this.kind];
    if (reason.endsWith('which is its id')) return `${list}.id to an attribute that each entry has`;
    if (reason.endsWith('which is its name')) return `${list}.name to attributes of which each entry has one`;
    if (reason === SAME_ID) return `${list}.base or ${list}.filter so that they select each entry once`;
    return 'uuid to the attribute with the permanent id of an entry';
  }

  /** The key of the model that an attribute is read by. */
  private keyOf(attribute: string): string {
    const list = LISTS[this.kind];
    const { fields } = mappingOf(this.mapping, this.kind);
    const field = fields.find(({ attributes }) => attributes.includes(attribute));
    if (field === undefined) return `by of the role in ${list} to what its values are: dn, id or uuid`;
    if (field.column !== null) return `${list}.fields.${field.name} to another attribute`;
    return `${list}.fields.${field.name}.type to the type of its values, such as String`;
  }

  private get roleAttributes(): string[] {
    return this.kind === 'person' ? [] : memberAttributesOf(this.mapping.groups);
  }
}

/** The attributes of the filters of the model. That of a preset is right for its server, also if it matches no entry yet. */
function filteredAttributes(
  kind: EntryKind,
  { users, groups }: DirectoryMapping,
  preset: DirectoryMapping,
): Map<string, string> {
  const ofRules = (list: string, rules: readonly { readonly where: string }[]) =>
    rules.map(({ where }) => [`visibility.${list}`, where] as const);
  const isOwn = users.disabled !== preset.users.disabled;
  const filters =
    kind === 'group'
      ? [...ofRules('groups', groups.rules), ...ofRules('members', groups.memberRules)]
      : [
          ...ofRules('users', users.rules),
          ...(users.disabled !== null && isOwn ? [['users.disabled', users.disabled] as const] : []),
        ];
  // A match with `:dn` finds attributes that entries need not have.
  const ofEntries = filters.filter(([, filter]) => !/:dn:/i.test(filter));
  return new Map(
    ofEntries.flatMap(([key, filter]) =>
      attributesOfFilter(parseFilter(filter)).map((attribute) => [attribute, key] as const),
    ),
  );
}

/** Pictures are not counted: reading them takes too long. */
function namedFields(kind: EntryKind, mapping: DirectoryMapping, preset: DirectoryMapping): Field[] {
  const usual = new Map(
    mappingOf(preset, kind).fields.map(({ name, attributes }) => [name, attributes.join()]),
  );
  return mappingOf(mapping, kind)
    .fields.filter(isMapped)
    .filter(({ name, reader, attributes }) => reader !== 'picture' && usual.get(name) !== attributes.join());
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function byCount([, left]: readonly [string, number], [, right]: readonly [string, number]): number {
  return right - left;
}

function sum(counts: Iterable<number>): number {
  return [...counts].reduce((known, each) => known + each, 0);
}
