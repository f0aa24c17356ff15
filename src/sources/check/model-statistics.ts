import { counted } from '../../common/counted.js';
import { type Field, mappedFields } from '../../common/field.js';
import { type Finding, ok, warning } from '../../common/finding.js';
import { buildMapping } from '../../config/model/build-mapping.js';
import { type DirectoryMapping, mappingOf } from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import type { Entry } from '../../ldap/entry.js';
import { compileFilter } from '../../ldap/filter/filter.js';
import { attributesOfFilter, parseFilter } from '../../ldap/filter/filter-parser.js';
import { type EntryKind, KINDS } from '../source.js';
import { ExposedMembers } from './exposed-members.js';

const TYPES = { person: 'User', group: 'Group' } as const satisfies Record<EntryKind, string>;

/** A rule of visibility and the entries that it decides about. */
interface CountedRule {
  readonly where: string;
  readonly to: string;
  /** The noun of what the rule hides, with its number. */
  readonly what: (count: number) => string;
  readonly matches: (entry: Entry) => boolean;
  hidden: number;
}

/** A filter of the model, which the service evaluates, and its key. */
interface ReadFilter {
  readonly key: string;
  readonly filter: string;
}

/**
 * Counts the entries with a value for each field that the model adds, or reads from another attribute than the preset, and
 * those that each rule hides. Finds attributes that filters read and no entry has. Without a model, nothing.
 */
export class ModelStatistics {
  private readonly totals: Record<EntryKind, number> = { person: 0, group: 0 };
  private readonly counts = new Map<Field, number>();
  /** The lists of rules of each kind. In each list, the first rule that matches decides. */
  private readonly rules: Readonly<Record<EntryKind, readonly (readonly CountedRule[])[]>>;
  private readonly exposed: ExposedMembers | null;
  private readonly filters: Readonly<Record<EntryKind, readonly ReadFilter[]>>;
  /** The attributes of the filters that no entry has had yet, with the key of the filter. */
  private readonly unseen: Readonly<Record<EntryKind, Map<string, string>>>;

  private readonly fields: Readonly<Record<EntryKind, readonly Field[]>>;

  constructor({ mapping, server }: Pick<DirectoryConfig, 'mapping' | 'server'>) {
    const { users, groups } = mapping;
    const preset = buildMapping({ server }, '');
    this.fields = {
      person: namedFields('person', mapping, preset),
      group: namedFields('group', mapping, preset),
    };
    this.rules = {
      person: [countedRules((count) => counted(count, 'user'), users.rules)],
      group: [
        countedRules((count) => counted(count, 'group'), groups.rules),
        countedRules((count) => `the members of ${counted(count, 'group')}`, groups.memberRules),
      ],
    };
    this.filters = filtersOf(mapping, preset);
    this.unseen = { person: unseenOf(this.filters.person), group: unseenOf(this.filters.group) };
    this.exposed = this.rules.group.flat().length === 0 ? null : new ExposedMembers(groups);
  }

  /** The attributes that are needed to count entries of a kind. */
  attributesOf(kind: EntryKind): string[] {
    const ofFilters = this.filters[kind].flatMap(({ filter }) => attributesOfFilter(parseFilter(filter)));
    return [...this.fields[kind].flatMap(({ attributes }) => attributes), ...ofFilters];
  }

  add(kind: EntryKind, entry: Entry): void {
    this.totals[kind]++;
    for (const field of this.fields[kind]) {
      const hasValue = field.attributes.some((attribute) => entry.bytes(attribute).length > 0);
      if (hasValue) this.counts.set(field, (this.counts.get(field) ?? 0) + 1);
    }
    const unseen = this.unseen[kind];
    for (const attribute of unseen.keys()) if (entry.bytes(attribute).length > 0) unseen.delete(attribute);
    const deciding = this.rules[kind].flatMap((list) => list.find(({ matches }) => matches(entry)) ?? []);
    for (const rule of deciding) rule.hidden++;
    if (kind === 'group') this.exposed?.add(entry, deciding.length > 0);
  }

  *findings(): Generator<Finding> {
    for (const kind of KINDS) {
      for (const field of this.fields[kind]) {
        const count = this.counts.get(field) ?? 0;
        const text = `${TYPES[kind]}.${field.name}: ${field.attributes.join(' or ')} in ${count} of ${this.totals[kind]} entries`;
        yield count > 0 ? ok('fields', text) : warning('fields', text);
      }
      for (const { what, where, to, hidden } of this.rules[kind].flat())
        yield ok('visibility', `${where} hides ${what(hidden)} from others than ${to}`);
      yield* this.findUnseen(kind);
    }
    yield* this.exposed?.findings() ?? [];
  }

  private *findUnseen(kind: EntryKind): Generator<Finding> {
    const total = this.totals[kind];
    if (total === 0) return;
    for (const [attribute, key] of this.unseen[kind])
      yield warning(
        'filters',
        `${key} reads ${attribute}, which is in 0 of ${total} entries: it is misspelled, hidden from the account, or an OID or another name of an attribute`,
      );
  }
}

/** The filters of the model. That of a preset is right for its server, also if it matches no entry yet. */
function filtersOf(
  { users, groups }: DirectoryMapping,
  preset: DirectoryMapping,
): Readonly<Record<EntryKind, readonly ReadFilter[]>> {
  const ofRules = (list: string, rules: readonly { readonly where: string }[]) =>
    rules.map(({ where }) => ({ key: `visibility.${list}`, filter: where }));
  const { disabled } = users;
  const isOwn = disabled !== null && disabled !== preset.users.disabled;
  return {
    person: [
      ...ofRules('users', users.rules),
      ...(isOwn ? [{ key: 'users.disabled', filter: disabled }] : []),
    ],
    group: [...ofRules('groups', groups.rules), ...ofRules('members', groups.memberRules)],
  };
}

/** A match with `:dn` finds attributes that entries need not have. */
function unseenOf(filters: readonly ReadFilter[]): Map<string, string> {
  return new Map(
    filters
      .filter(({ filter }) => !/:dn:/i.test(filter))
      .flatMap(({ key, filter }) =>
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

function countedRules(
  what: CountedRule['what'],
  rules: readonly { readonly where: string; readonly to: string }[],
): CountedRule[] {
  return rules.map(({ where, to }) => ({ what, where, to, matches: compileFilter(where), hidden: 0 }));
}
