import { counted } from '../../common/counted.js';
import { type Field, mappedFields } from '../../common/field.js';
import { type Finding, ok, problem, warning } from '../../common/finding.js';
import { foldId } from '../../common/identity.js';
import { type DirectoryMapping, mappingOf, memberAttributesOf } from '../../config/model/mapping.js';
import { attributeKey, type Entry } from '../../ldap/entry.js';
import { compileFilter, attributesOfFilter, parseFilter } from '../../ldap/filter/filter.js';
import type { Mapped } from '../map/entry-reader.js';
import type { MappedPerson } from '../map/map.js';
import { SAME_ID } from '../revision/staging.js';
import type { EntryKind } from '../../sources/source.js';
import { LISTS } from './references.js';

export const PLURALS = { person: 'users', group: 'groups' } as const satisfies Record<EntryKind, string>;
const TYPES = { person: 'User', group: 'Group' } as const satisfies Record<EntryKind, string>;

/** The share of values of an attribute that do not fit, as one of so many, above which the model is probably wrong. */
const TOLERATED = 5;

/** A rule of visibility and the entries that it decides about. */
interface CountedRule {
  readonly where: string;
  readonly to: string;
  /** The noun of what the rule hides, with its number. */
  readonly what: (count: number) => string;
  readonly matches: (entry: Entry) => boolean;
  hidden: number;
}

/** Counts the entries of a kind, what the mirror would quarantine of them, and what of the model they have. */
export class CountedKind {
  total = 0;
  /** The number of entries that have each attribute, by attributeKey. */
  private readonly counts = new Map<string, number>();
  private readonly ids = new Map<string, number>();
  /** The number of entries with a key of a DN, and the DNs that are equal to one before. */
  private readonly dnKeys = new Map<string, number>();
  private readonly sameDns: string[] = [];
  /** The number of entries that are left out, by reason. */
  private readonly omitted = new Map<string, number>();
  /** The number of entries that are left out of an attribute, by reason. */
  private readonly misfits = new Map<string, Map<string, number>>();
  /** The fields that the model adds, or reads from other attributes than the preset, with their number of entries. */
  private readonly fields: ReadonlyMap<Field, { count: number }>;
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
    this.fields = new Map(namedFields(kind, mapping, preset).map((field) => [field, { count: 0 }]));
    this.filtered = filteredAttributes(kind, mapping, preset);
    const { users, groups } = mapping;
    const rulesOf = ({ rules }: { rules: readonly { where: string; to: string }[] }, noun: string) =>
      rules.map(({ where, to }) => {
        const what = (count: number) => `${noun}${counted(count, kind === 'person' ? 'user' : 'group')}`;
        return { where, to, what, matches: compileFilter(where), hidden: 0 };
      });
    this.rules =
      kind === 'person'
        ? [rulesOf(users, '')]
        : [rulesOf(groups, ''), rulesOf({ rules: groups.memberRules }, 'the members of ')];
  }

  /** The attributes that are needed to map and count entries. */
  get attributes(): string[] {
    const { uuid, id, name, modifiedAt } = mappingOf(this.mapping, this.kind);
    const ofFields = [...this.fields.keys()].flatMap(({ attributes }) => attributes);
    return [uuid, id, ...name, modifiedAt, ...this.roleAttributes, ...ofFields, ...this.filtered.keys()];
  }

  having(attribute: string): number {
    return this.counts.get(attributeKey(attribute)) ?? 0;
  }

  add(entry: Entry, { value, quarantined }: Mapped<MappedPerson>): void {
    this.total++;
    for (const [key, values] of entry.attributes) if (values.length > 0) increment(this.counts, key);
    for (const [{ attributes }, field] of this.fields)
      if (attributes.some((attribute) => entry.bytes(attribute).length > 0)) field.count++;
    for (const list of this.rules) {
      const rule = list.find(({ matches }) => matches(entry));
      if (rule !== undefined) rule.hidden++;
    }
    if (value !== null) {
      increment(this.ids, foldId(value.id));
      if (increment(this.dnKeys, value.dnKey) === 2) this.sameDns.push(value.dn);
    }
    // Of several reasons of one attribute, the first counts.
    const reasons = new Map(quarantined.toReversed().map(({ attribute, reason }) => [attribute, reason]));
    for (const [attribute, reason] of reasons) {
      if (attribute === null) increment(this.omitted, reason);
      else {
        const known = this.misfits.get(attribute) ?? new Map<string, number>();
        increment(known, reason);
        this.misfits.set(attribute, known);
      }
    }
  }

  *describe(): Generator<Finding> {
    const what = PLURALS[this.kind];
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
    yield* this.describeMisfits(what);
    yield* this.describeRoles();
  }

  private *describeOmitted(what: string): Generator<Finding> {
    const { total } = this;
    const same = sum([...this.ids.values()].filter((count) => count > 1));
    const reasons = [...this.omitted, ...(same === 0 ? [] : [[SAME_ID, same] as const])];
    const omitted = sum(reasons.map(([, count]) => count));
    if (omitted > 0) {
      const sorted = reasons.sort(([, left], [, right]) => right - left);
      const [[most] = ['']] = sorted;
      const share = omitted === total ? `all ${total} entries` : `${omitted} of ${total} entries`;
      const causes = sorted.map(([reason, count]) => `${reason} (${count})`).join(', or ');
      const text = `${share} would be quarantined: an entry ${causes}. Set ${this.cureOf(most)}`;
      yield omitted === total ? problem(what, text) : warning(what, text);
    }
    const [dn] = this.sameDns;
    if (dn === undefined) return;
    const others = counted(this.sameDns.length, 'entry has', 'entries have');
    const text = `${others} the DN of another entry if case is ignored, such as ${dn}`;
    yield warning(what, `${text}. References to them name no entry. Rename one of each`);
  }

  private *describeMisfits(what: string): Generator<Finding> {
    for (const [attribute, reasons] of this.misfits) {
      const having = this.having(attribute);
      const omitted = sum(reasons.values());
      if (omitted * TOLERATED <= having) continue;
      const [[reason] = ['']] = [...reasons].sort(([, left], [, right]) => right - left);
      const text = `${attribute} of ${omitted} of the ${having} entries that have it would be quarantined: it ${reason}`;
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
    for (const [{ name, attributes }, { count }] of this.fields) {
      const text = `${TYPES[this.kind]}.${name}: ${attributes.join(' or ')} in ${count} of ${this.total} entries`;
      yield count > 0 ? ok('fields', text) : warning('fields', text);
    }
    for (const { what, where, to, hidden } of this.rules.flat())
      yield ok('visibility', `${where} hides ${what(hidden)} from others than ${to}`);
    for (const [attribute, key] of this.filtered)
      if (this.having(attribute) === 0)
        yield warning(
          'filters',
          `${key} reads ${attribute}, which is in 0 of ${this.total} entries: it is misspelled, hidden from the account, or an OID or another name of an attribute`,
        );
  }

  private cureOf(reason: string): string {
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
  return mappedFields(mappingOf(mapping, kind).fields).filter(
    ({ name, reader, attributes }) => reader !== 'picture' && usual.get(name) !== attributes.join(),
  );
}

function increment(counts: Map<string, number>, key: string): number {
  const count = (counts.get(key) ?? 0) + 1;
  counts.set(key, count);
  return count;
}

function sum(counts: Iterable<number>): number {
  return [...counts].reduce((known, each) => known + each, 0);
}
