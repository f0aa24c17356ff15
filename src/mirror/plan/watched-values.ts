import { type Field, mappedFields, storedName } from '../../common/field.js';
import type { DirectoryMapping, EntryMapping, RoleMapping } from '../../config/model/mapping.js';
import { AUDIENCE_LEVELS, type AudienceLevel } from '../../config/settings/visibility.js';
import { FIELD_VALUES } from '../../database/fields/field-columns.js';
import { attributesOfFilter, parseFilter } from '../../ldap/filter/filter-parser.js';
import { type FilterList, mayLack } from '../map/rule-attributes.js';
import {
  type MappedGroup,
  NAMED_AS_ADMIN,
  NAMED_AS_MEMBER,
  NAMED_AS_OWNER,
  type MappedPerson,
} from '../map/snapshot.js';

export type WatchedKind = 'people' | 'groups';

/** What the deletion guard does not let many entries lose at once. */
export interface Watched<Value> {
  /** Identifies it in `revisions.attributes_lost`. */
  readonly key: string;
  /** The object of a sentence. */
  readonly describe: () => string;
  readonly isLacking: (value: Value) => boolean;
  /** SQL condition: the row `e` has it. $1 is the attribute of the name, as in source_values. */
  readonly isHeld: string;
  /** The share that may always lose it. Undefined: that of the settings. */
  readonly leastPercent?: number;
}

/**
 * Entries that have all attributes of the rules change on purpose, but not most of them at once: their group can have lost its
 * members, or the account no longer reads some values.
 */
const PERCENT_ON_PURPOSE = 50;

/** Beginning of the keys of what the rules of visibility do. The keys of attributes begin with a kind. */
export const OF_RULES = 'visibility.';
/** Key of what `users.disabled` does. */
export const OF_DISABLED = 'users.disabled';

export function watchedOfPeople({ users }: DirectoryMapping): Watched<MappedPerson>[] {
  return [
    ownName('people', users.name),
    ...watchedFields<MappedPerson>('people', users.fields),
    ...audiences<MappedPerson>('users', users.rules, 'visible_to', ({ visibleTo }) => visibleTo),
    ...inactivity(users),
  ];
}

export function watchedOfGroups({ groups }: DirectoryMapping): Watched<MappedGroup>[] {
  const ofMembers = ({ membersVisibleTo }: MappedGroup) => membersVisibleTo;
  return [
    ownName('groups', groups.name),
    ...watchedFields<MappedGroup>('groups', groups.fields),
    naming('groups.member', NAMED_AS_MEMBER, groups.members),
    naming('groups.admin', NAMED_AS_ADMIN, groups.admins),
    naming('groups.owner', NAMED_AS_OWNER, groups.owners),
    ...audiences<MappedGroup>('groups', groups.rules, 'visible_to', ({ visibleTo }) => visibleTo),
    ...audiences<MappedGroup>('members', groups.memberRules, 'members_visible_to', ofMembers),
  ];
}

function watchedFields<Value extends MappedPerson | MappedGroup>(
  kind: WatchedKind,
  fields: readonly Field[],
): Watched<Value>[] {
  return mappedFields(fields).map((field) => ({
    key: `${kind}.${field.name}`,
    describe: () => `the attribute ${field.attribute}`,
    isLacking: (value) => (value[storedName(field)] ?? null) === null,
    isHeld: `e.${field.column ?? `${FIELD_VALUES} -> '${storedName(field)}'`} is not null`,
  }));
}

/** The name may be from another attribute because the entry lacks the first one: see SourceValues. */
function ownName<Value extends MappedPerson | MappedGroup>(
  kind: WatchedKind,
  [attribute = '']: readonly string[],
): Watched<Value> {
  return {
    key: `${kind}.name`,
    describe: () => `the attribute ${attribute}`,
    isLacking: ({ sourceValues }) => sourceValues?.[attribute.toLowerCase()]?.length === 0,
    isHeld: `coalesce(e.source_values -> $1::text <> '[]'::jsonb, true)`,
  };
}

/** An attribute with DNs. A group has it if it names any entry there, mirrored or not. */
function naming(key: string, bit: number, { attributes }: RoleMapping): Watched<MappedGroup> {
  const names = (table: string, column: string) =>
    `exists (select from ${table} r where r.${column} = e.key and r.named_as & ${bit} > 0)`;
  return {
    key,
    describe: () => `the attribute ${attributes.join(' or ')}`,
    isLacking: ({ references }) => ![...references.values()].some((namedAs) => (namedAs & bit) > 0),
    isHeld: `(${names('memberships', 'group_key')} or ${names('nestings', 'outer_key')}
      or ${names('unresolved_references', 'group_key')})`,
  };
}

/** Each audience of a list of rules. An entry without the attribute that a rule reads becomes visible to more viewers. */
function audiences<Value extends MappedPerson | MappedGroup>(
  list: 'users' | 'groups' | 'members',
  rules: EntryMapping['rules'],
  column: string,
  levelOf: (value: Value) => AudienceLevel | null | undefined,
): Watched<Value>[] {
  const levels = new Set(rules.map(({ to }) => AUDIENCE_LEVELS[to]));
  const filters = rules.map(({ where }) => where);
  return [...levels].flatMap((level) =>
    withPurpose({
      key: `${OF_RULES}${list}.${level}`,
      describe: () => `the effect of ${OF_RULES}${list}${attributesRead(filters)}`,
      isLacking: (value: Value) => (levelOf(value) ?? 0) < level,
      isHeld: `e.${column} >= ${level}`,
      list,
    }),
  );
}

function inactivity({ disabled }: EntryMapping): Watched<MappedPerson>[] {
  if (disabled === null) return [];
  return withPurpose({
    key: OF_DISABLED,
    describe: () => `the effect of ${OF_DISABLED}${attributesRead([disabled])}`,
    isLacking: ({ active }) => active !== false,
    isHeld: 'not e.is_active',
    list: 'disabled',
  });
}

/** The loss by entries that lack an attribute of the filters, and that by all. */
function withPurpose<Value extends MappedPerson | MappedGroup>({
  list,
  ...watched
}: Watched<Value> & { readonly list: FilterList }): Watched<Value>[] {
  const { key, isLacking } = watched;
  return [
    { ...watched, isLacking: (value) => isLacking(value) && mayLack(value, list) },
    { ...watched, key: `${key}.all`, leastPercent: PERCENT_ON_PURPOSE },
  ];
}

function attributesRead(filters: readonly string[]): string {
  const attributes = new Set(filters.flatMap((filter) => attributesOfFilter(parseFilter(filter))));
  return attributes.size === 0 ? '' : ` (${[...attributes].join(', ')})`;
}
