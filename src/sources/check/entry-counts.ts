import { counted } from '../../common/counted.js';
import { mappedFields } from '../../common/field.js';
import { type Finding, ok, problem, warning } from '../../common/finding.js';
import { buildMapping } from '../../config/model/build-mapping.js';
import { type DirectoryMapping, mappingOf, memberAttributesOf, type NamedBy } from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import type { Entry } from '../../ldap/entry.js';
import { attributesOfFilter, compileFilter, parseFilter } from '../../ldap/filter/filter.js';
import { uuidOfEntry } from '../../ldap/naming/identifiers.js';
import { type EntryKind, KINDS } from '../source.js';

/** What a check counts of the entries of a directory. */
export interface EntryStatistics {
  add(kind: EntryKind, entry: Entry): void;
  /** The findings after all entries. They contain no names of entries. */
  findings(): Iterable<Finding>;
}

/** A number that each entry of a kind adds to. */
interface Count {
  readonly kind: EntryKind;
  readonly of: (entry: Entry) => number | boolean;
  /** @param total the number of entries of the kind */
  readonly describe: (sum: number, total: number) => Finding | null;
}

export class EntryCounts implements EntryStatistics {
  readonly totals: Record<EntryKind, number> = { person: 0, group: 0 };
  private readonly sums: number[];

  constructor(private readonly counts: readonly Count[]) {
    this.sums = counts.map(() => 0);
  }

  add(kind: EntryKind, entry: Entry): void {
    this.totals[kind]++;
    for (const [index, count] of this.counts.entries())
      if (count.kind === kind) this.sums[index] = (this.sums[index] ?? 0) + Number(count.of(entry));
  }

  findings(): Finding[] {
    return this.counts.flatMap(({ kind, describe }, i) => describe(this.sums[i] ?? 0, this.totals[kind]) ?? []);
  }
}

const WHAT = { person: 'people', group: 'groups' } as const satisfies Record<EntryKind, string>;
const TYPES = { person: 'User', group: 'Group' } as const satisfies Record<EntryKind, string>;

const has = (entry: Entry, attribute: string) => entry.bytes(attribute).length > 0;

/** Counts the entries of a kind, and those without what each entry needs. @param sees who sees them, where it is an account */
export function basicCounts(mapping: DirectoryMapping, kind: EntryKind, sees: string): Count[] {
  const what = WHAT[kind];
  const { uuid, id, bases, filter } = mappingOf(mapping, kind);
  const none = `none below ${bases.join(' or ')} that ${sees}${filter} chooses`;
  const without = (of: Count['of'], describe: (share: string) => Finding): Count => ({
    kind,
    of,
    describe: (sum, total) => (sum === 0 ? null : describe(`${sum} of ${total} entries`)),
  });
  return [
    {
      kind,
      of: () => true,
      describe: (_, total) => {
        if (total > 0) return ok(what, `${total} below ${bases.join(' and ')}`);
        return kind === 'person' ? problem(what, none, 'NONE') : warning(what, none, 'NONE');
      },
    },
    without(
      (entry) => sees !== '' && !has(entry, uuid),
      (share) =>
        problem(
          what,
          `${uuid} is missing, or the account may not read it, in ${share}`,
          'insufficientAccessRights',
        ),
    ),
    without(
      (entry) => has(entry, uuid) && uuidOfEntry(entry, uuid) === null,
      (share) => warning(what, `${share} have an invalid ${uuid}, and are omitted`),
    ),
    without(
      (entry) => !has(entry, id),
      (share) => warning(what, `${share} have no ${id}, and are omitted`),
    ),
    ...(kind === 'group' && sees !== '' ? [memberCount(mapping)] : []),
  ];
}

/** Counts the groups with each attribute that names members. */
function memberCount({ users, groups }: DirectoryMapping): Count {
  const having = new Map(memberAttributesOf(groups).map((attribute) => [attribute, 0]));
  return {
    kind: 'group',
    of: (entry) => {
      const found = [...having].filter(([attribute]) => has(entry, attribute));
      for (const [attribute, count] of found) having.set(attribute, count + 1);
      return found.length > 0;
    },
    describe: (sum, total) => {
      if (total === 0) return null;
      const text = [...having].map(([name, count]) => `${name} in ${counted(count, 'group')}`).join(', ');
      return sum > 0 || users.memberOf !== undefined
        ? ok('members', text)
        : problem(
            'members',
            `${text}: they are hidden from the account, or called otherwise`,
            'insufficientAccessRights',
          );
    },
  };
}

/**
 * Counts the entries with a value for each field that the model adds, or reads from another attribute than the preset, those that
 * each rule hides, and those with each attribute that filters of the model read. Without a model, nothing.
 */
export function modelCounts({ mapping, server }: Pick<DirectoryConfig, 'mapping' | 'server'>): Count[] {
  const preset = buildMapping({ server }, '');
  return KINDS.flatMap((kind) => [
    ...fieldCounts(kind, mapping, preset),
    ...ruleCounts(kind, mapping),
    ...filterCounts(kind, mapping, preset),
  ]);
}

/** Pictures are not counted: reading them takes too long. */
function fieldCounts(kind: EntryKind, mapping: DirectoryMapping, preset: DirectoryMapping): Count[] {
  const usual = mappingOf(preset, kind).fields.map(({ name, attributes }) => `${name} ${attributes.join()}`);
  return mappedFields(mappingOf(mapping, kind).fields)
    .filter(
      ({ name, reader, attributes }) =>
        reader !== 'picture' && !usual.includes(`${name} ${attributes.join()}`),
    )
    .map(({ name, attributes }) => ({
      kind,
      of: (entry) => attributes.some((attribute) => has(entry, attribute)),
      describe: (sum, total) => {
        const text = `${TYPES[kind]}.${name}: ${attributes.join(' or ')} in ${sum} of ${total} entries`;
        return sum > 0 ? ok('fields', text) : warning('fields', text);
      },
    }));
}

/** In each list of rules, the first one that matches decides. */
function ruleCounts(kind: EntryKind, { users, groups }: DirectoryMapping): Count[] {
  const lists =
    kind === 'person'
      ? [{ rules: users.rules, what: (sum: number) => counted(sum, 'user') }]
      : [
          { rules: groups.rules, what: (sum: number) => counted(sum, 'group') },
          { rules: groups.memberRules, what: (sum: number) => `the members of ${counted(sum, 'group')}` },
        ];
  return lists.flatMap(({ rules, what }) => {
    const filters = rules.map(({ where }) => compileFilter(where));
    return rules.map(({ where, to }, index) => ({
      kind,
      of: (entry) => filters.findIndex((matches) => matches(entry)) === index,
      describe: (sum) => ok('visibility', `${where} hides ${what(sum)} from others than ${to}`),
    }));
  });
}

/** The filters of the model. That of a preset is right for its server, also if it matches no entry yet. */
function filterCounts(
  kind: EntryKind,
  { users, groups }: DirectoryMapping,
  preset: DirectoryMapping,
): Count[] {
  const ofRules = (list: string, rules: readonly { readonly where: string }[]) =>
    rules.map(({ where }) => ({ key: `visibility.${list}`, filter: where }));
  const { disabled } = users;
  const isOwn = disabled !== null && disabled !== preset.users.disabled;
  const filters =
    kind === 'person'
      ? [
          ...ofRules('users', users.rules),
          ...(isOwn ? [{ key: 'users.disabled', filter: disabled }] : []),
        ]
      : [...ofRules('groups', groups.rules), ...ofRules('members', groups.memberRules)];
  const keys = new Map(
    filters
      // A match with `:dn` finds attributes that entries need not have.
      .filter(({ filter }) => !/:dn:/i.test(filter))
      .flatMap(({ key, filter }) => attributesOfFilter(parseFilter(filter)).map((name) => [name, key])),
  );
  return [...keys].map(([attribute, key]) => ({
    kind,
    of: (entry) => has(entry, attribute),
    describe: (sum, total) =>
      sum > 0 || total === 0
        ? null
        : warning(
            'filters',
            `${key} reads ${attribute}, which is in 0 of ${total} entries: it is misspelled, hidden from the account, or an OID or another name of an attribute`,
          ),
  }));
}

/** The usual attributes of members, and how their values name entries. */
export const USUAL_MEMBERS: readonly (readonly [attribute: string, by: NamedBy])[] = [
  ['member', 'dn'],
  ['uniqueMember', 'dn'],
  ['memberUid', 'id'],
];

/** Where Active Directory has an entry for each member of another domain ([MS-ADTS] 6.1.1.4.10). */
const FOREIGN = ',cn=foreignsecurityprincipals,';

/** Counts members that the mapping cannot find: those in other attributes, and those of other domains. */
export function lostMemberCounts({ groups }: DirectoryMapping): Count[] {
  const kind = 'group';
  const mapped = memberAttributesOf(groups).map((each) => each.toLowerCase());
  const attributes = groups.members.flatMap((form) => form.attributes);
  const others = USUAL_MEMBERS.filter(([attribute]) => !mapped.includes(attribute.toLowerCase()));
  const isForeign = (dn: string) => dn.toLowerCase().includes(FOREIGN);
  const foreign: Count = {
    kind,
    of: (entry) => attributes.flatMap((attribute) => entry.text(attribute)).filter(isForeign).length,
    describe: (sum) =>
      sum === 0
        ? null
        : warning(
            'members',
            `${counted(sum, 'foreign security principal')} among the members: users and groups of other domains are not mirrored`,
          ),
  };
  const unread = others.map(([other, by]): Count => ({
    kind,
    of: (entry) => has(entry, other) && !attributes.some((attribute) => has(entry, attribute)),
    describe: (sum) => {
      const text = `${other} is not read, and alone names the members of ${counted(sum, 'group')}`;
      return sum === 0
        ? null
        : warning('members', `${text}: set groups.members to read {attribute: ${other}, by: ${by}}, too`);
    },
  }));
  return [...unread, foreign];
}
